#include "preload/unwind/walk/stack_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace swipr::unwind {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t kStack = 0x7ffe00000000;
constexpr std::uint64_t kCode = 0x400000;
constexpr std::uint64_t kCodeEnd = kCode + 0x1000;

class StackWordsTest : public testing::Test {
 protected:
  struct Reader {
    const Words& words;
    bool read_word(std::uint64_t address, std::uint64_t& out) const {
      const std::uint64_t index = (address - kStack) / 8;
      if (address < kStack || index >= words.size()) return false;
      out = words[index];
      return true;
    }
  };
  StackWords keep(const Words& stack, std::size_t room = 64) {
    Reader reader{stack};
    kept_.resize(room);
    const std::size_t count = keep_stack_words(CodeMap(ranges_), reader, kStack, std::span(kept_));
    return {kStack, std::span(kept_).first(count)};
  }

  std::vector<CodeRange> ranges_{{kCode, kCodeEnd, 0, nullptr},
                                 {0xffffffffff600000, 0xffffffffff601000, 0, nullptr}};
  Words kept_;
};

TEST_F(StackWordsTest, AStackOutsideUserSpaceHasNone) {
  struct CodeEverywhere {
    static bool read_word(std::uint64_t, std::uint64_t& out) {
      out = kCode + 8;
      return true;
    }
  } memory;
  kept_.resize(64);
  for (const std::uint64_t from : {~std::uint64_t{0xff}, std::uint64_t{1} << kUserAddressBits}) {
    const std::size_t count = keep_stack_words(CodeMap(ranges_), memory, from, std::span(kept_));
    EXPECT_EQ(StackWords(from, std::span(kept_).first(count)).count(), 0u) << from;
  }
}

TEST_F(StackWordsTest, KeepsAddressesOfCodeAndOfTheStack) {
  const StackWords words =
      keep({7, kCode + 1, 0x3ff0000000000000, kStack + 64, 0, kCodeEnd, kCode, kCodeEnd + 1});
  ASSERT_EQ(words.count(), 3u);
  EXPECT_EQ(words.address(0), kStack + 8);
  EXPECT_EQ(words.value(0), kCode + 1);
  EXPECT_EQ(words.value(1), kStack + 64);
  EXPECT_EQ(words.value(2), kCodeEnd) << "behind the last call of the range";
}

TEST_F(StackWordsTest, ReadsOtherWordsAsNoAddress) {
  const StackWords words = keep({7, kCode + 1});
  std::uint64_t word = 0;
  EXPECT_TRUE(words.read_word(kStack, word));
  EXPECT_EQ(word, 1u);
  EXPECT_TRUE(words.read_word(kStack + 8, word));
  EXPECT_EQ(word, kCode + 1);
  EXPECT_FALSE(words.read_word(kStack + 16, word)) << "behind the end of what could be read";
  EXPECT_FALSE(words.read_word(kStack - 8, word));
  EXPECT_FALSE(words.read_word(kStack + 4, word));
  EXPECT_EQ(words.find(kStack + 8), 0u);
  EXPECT_EQ(words.find(kStack), words.count());
  EXPECT_EQ(words.find(kStack + 1024), words.count());
}

TEST_F(StackWordsTest, EndsWhereThereIsNoRoom) {
  const StackWords words = keep(Words(100, kCode + 1), 8);
  EXPECT_EQ(words.count(), 7u);
  EXPECT_TRUE(words.covers(kStack + 6 * 8));
  EXPECT_FALSE(words.covers(kStack + 7 * 8));
  EXPECT_EQ(keep(Words(100, kCode + 1), 1).count(), 0u);
  EXPECT_EQ(keep(Words(100, kCode + 1), 0).count(), 0u);
}

TEST_F(StackWordsTest, LooksAtSoMuchOfAStackOnly) {
  const Words stack(kScannedBytes / 8 + 100, 0);
  const StackWords words = keep(stack);
  EXPECT_EQ(words.count(), 0u);
  EXPECT_TRUE(words.covers(kStack + kScannedBytes - 8));
  EXPECT_FALSE(words.covers(kStack + kScannedBytes));
}

TEST_F(StackWordsTest, HasNoWordsOfAStackThatCannotBeRead) {
  EXPECT_EQ(keep({}).count(), 0u);
  EXPECT_EQ(StackWords().count(), 0u);
  EXPECT_FALSE(StackWords().covers(0));
}

}  // namespace
}  // namespace swipr::unwind
