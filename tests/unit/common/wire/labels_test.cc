#include "common/wire/labels.h"

#include <gtest/gtest.h>

#include <array>

#include "common/wire/decoder.h"

namespace swipr::wire {
namespace {

class LabelRecords : public testing::Test {
 protected:
  std::span<const std::byte> payload(RecordType type) {
    std::span<const std::byte> bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value() && bytes.empty());
    EXPECT_EQ(record.value_or(RawRecord{}).type, static_cast<std::uint8_t>(type));
    return record.value_or(RawRecord{}).payload;
  }

  std::array<std::byte, 256> buffer_{};
  std::array<LabelText, kMostLabels> texts_;
  Encoder out_{buffer_};
};

TEST_F(LabelRecords, KeepASet) {
  const LabelText labels[] = {{"endpoint", "/cart"}, {"tenant", ""}};
  encode_labels(out_, 7, labels);
  const auto bytes = payload(RecordType::kLabels);
  const auto read = decode_labels(bytes, texts_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->set, 7u);
  ASSERT_EQ(read->count, 2u);
  EXPECT_EQ(texts_[0].key, "endpoint");
  EXPECT_EQ(texts_[0].value, "/cart");
  EXPECT_EQ(texts_[1].key, "tenant");
  EXPECT_EQ(texts_[1].value, "");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_labels(bytes.first(size), texts_).has_value()) << "cut at " << size;
  }
}

TEST_F(LabelRecords, RejectImpossibleSets) {
  encode_labels(out_, 0, {});
  EXPECT_FALSE(decode_labels(payload(RecordType::kLabels), texts_).has_value()) << "no id";
  out_.roll_back(0);
  out_.put_varint(1);
  out_.put_varint(kMostLabels + 1);
  EXPECT_FALSE(decode_labels(out_.bytes(), texts_).has_value()) << "too many";
}

TEST_F(LabelRecords, TellTheSetOfAStack) {
  encode(out_, StackLabelsRecord{.stack_id = 300, .set = 2});
  const auto read = decode_stack_labels(payload(RecordType::kStackLabels));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->stack_id, 300u);
  EXPECT_EQ(read->set, 2u);
  out_.roll_back(0);
  out_.put_varint(0);
  out_.put_varint(2);
  EXPECT_FALSE(decode_stack_labels(out_.bytes()).has_value()) << "no stack";
}

}  // namespace
}  // namespace swipr::wire
