// Records about calls that samples have met.
#include "common/wire/sampled_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace swipr::wire {
namespace {

constexpr std::uint64_t kLargest = ~std::uint64_t{0};

class SampledCallRecords : public testing::Test {
 protected:
  std::span<const std::byte> payload(RecordType type) {
    std::span<const std::byte> bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value() && bytes.empty());
    EXPECT_EQ(record.value_or(RawRecord{}).type, static_cast<std::uint8_t>(type));
    return record.value_or(RawRecord{}).payload;
  }
  std::span<const std::byte> numbers(const std::vector<std::uint64_t>& values) {
    out_.roll_back(0);
    for (const std::uint64_t value : values) out_.put_varint(value);
    return out_.bytes();
  }

  std::array<std::byte, 4096> buffer_{};
  Encoder out_{buffer_};
};

TEST_F(SampledCallRecords, KeepTheCallsOfAStack) {
  StackCallsRecord record{.stack_id = 70'000, .base_id = 3, .call_count = kMostOpenCalls};
  for (std::size_t at = 0; at < kMostOpenCalls; ++at) {
    record.calls[at] = {.probe = at, .place = 16'383 - at, .start_ns = kLargest - at};
  }
  encode(out_, record);
  const auto read = decode_stack_calls(payload(RecordType::kStackCalls));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->stack_id, 70'000u);
  EXPECT_EQ(read->base_id, 3u);
  EXPECT_EQ(read->call_count, kMostOpenCalls);
  EXPECT_EQ(read->calls, record.calls);
}

TEST_F(SampledCallRecords, KeepTheEndOfACall) {
  const CallEndRecord record{.call = {.probe = 31, .place = 7, .start_ns = 5},
                             .duration_ns = kLargest,
                             .flags = kCallUnwound};
  encode(out_, record);
  const auto read = decode_call_end(payload(RecordType::kCallEnd));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->call, record.call);
  EXPECT_EQ(read->duration_ns, kLargest);
  EXPECT_EQ(read->flags, kCallUnwound);
}

TEST_F(SampledCallRecords, RefuseWhatCannotBe) {
  EXPECT_TRUE(decode_stack_calls(numbers({2, 1, 0})).has_value());
  EXPECT_FALSE(decode_stack_calls(numbers({0, 1, 0})).has_value());              // no id
  EXPECT_FALSE(decode_stack_calls(numbers({2, 0, 0})).has_value());              // no base
  EXPECT_FALSE(decode_stack_calls(numbers({2, 1, 33})).has_value());             // too many
  EXPECT_FALSE(decode_stack_calls(numbers({2, 1, 1, 32, 0, 0})).has_value());    // no such probe
  EXPECT_FALSE(decode_stack_calls(numbers({2, 1, 2, 0, 0, 0, 1})).has_value());  // cut off
  EXPECT_FALSE(decode_call_end(numbers({32, 0, 0, 0, 0})).has_value());          // no such probe
  EXPECT_FALSE(decode_call_end(numbers({0, 0, 0, 9})).has_value());              // cut off
}

}  // namespace
}  // namespace swipr::wire
