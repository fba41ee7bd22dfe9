#include "preload/agent/record/stream/label_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "common/wire/decoder.h"
#include "common/wire/labels.h"

namespace swipr::agent {
namespace {

using Pairs = std::initializer_list<std::pair<std::string, std::string>>;

class LabelTableTest : public testing::Test {
 protected:
  ~LabelTableTest() override { table_.release(); }

  static labels::LabelSet set_of(Pairs pairs) {
    labels::LabelSet set{};
    for (const auto& [key, value] : pairs) {
      labels::Label& label = set.labels[set.count++];
      label.key_bytes = static_cast<std::uint8_t>(key.size());
      label.value_bytes = static_cast<std::uint8_t>(value.size());
      std::memcpy(label.text, key.data(), key.size());
      std::memcpy(label.text + key.size(), value.data(), value.size());
    }
    return set;
  }
  // kFull: no room.
  static constexpr std::uint32_t kFull = ~0u;
  std::uint32_t intern(Pairs pairs) {
    const labels::LabelSet set = set_of(pairs);
    std::uint32_t id = 0;
    return table_.intern(&set, id) ? id : kFull;
  }
  // Types of the records that `define` writes.
  std::string defined(std::uint32_t id) {
    std::array<std::byte, 4096> buffer;
    wire::Encoder out(buffer);
    table_.define(out, 9, id);
    EXPECT_LE(out.size(), table_.definition_bytes(id));
    std::string types;
    auto bytes = out.bytes();
    while (const auto record = wire::take_record(bytes)) {
      types += record->type == static_cast<std::uint8_t>(wire::RecordType::kLabels) ? "L" : "s";
    }
    return types;
  }

  LabelTable table_;
};

TEST_F(LabelTableTest, EqualSetsHaveOneIdInAnyOrder) {
  EXPECT_EQ(intern({{"a", "1"}, {"b", "2"}}), 1u);
  EXPECT_EQ(intern({{"b", "2"}, {"a", "1"}}), 1u);
  EXPECT_EQ(intern({{"a", "1"}}), 2u);
  EXPECT_EQ(intern({{"a1", ""}}), 3u) << "the same bytes, but another key";
  std::uint32_t id = 7;
  EXPECT_TRUE(table_.intern(nullptr, id));
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(intern({}), 0u);
}

TEST_F(LabelTableTest, SetsAreWrittenOnceUnlessThatWasRolledBack) {
  const std::uint32_t id = intern({{"a", "1"}});
  EXPECT_EQ(defined(0), "");
  EXPECT_EQ(defined(id), "Ls");
  EXPECT_EQ(defined(id), "s") << "by the same bytes";
  table_.settle(id, false);
  EXPECT_EQ(defined(id), "Ls");
  table_.settle(id, true);
  EXPECT_EQ(defined(id), "s");
}

TEST_F(LabelTableTest, IsBoundedAndBeginsAnew) {
  for (std::uint32_t number = 1; number <= LabelTable::kMostSets; ++number) {
    ASSERT_EQ(intern({{"n", std::to_string(number)}}), number);
  }
  EXPECT_EQ(intern({{"n", "one more"}}), kFull);
  EXPECT_EQ(intern({{"n", "77"}}), 77u) << "is there";
  table_.start_generation();
  EXPECT_EQ(intern({{"n", "one more"}}), 1u);
  EXPECT_EQ(defined(1), "Ls");
}

TEST_F(LabelTableTest, BoundsItsBytes) {
  const std::string pad(100, 'x');
  std::uint32_t count = 0;
  for (; count < LabelTable::kMostSets; ++count) {
    const std::string number = std::to_string(count);
    const std::uint32_t id = intern({{"a", pad + number}, {"b", pad}, {"c", pad}, {"d", pad}});
    if (id == kFull) break;
  }
  EXPECT_GT(count, 2000u);
  EXPECT_LT(count, LabelTable::kMostBytes / 400);
}

}  // namespace
}  // namespace swipr::agent
