#include "preload/runtimes/v8/v8_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kSourceAddress = 0x10000;

struct ScriptSource {
  std::string bytes;
  std::uint64_t reads = 0;

  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    auto& self = *static_cast<ScriptSource*>(state);
    ++self.reads;
    const std::uint64_t at = address - kSourceAddress;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = at + i < self.bytes.size() ? std::byte(self.bytes[at + i]) : std::byte{0};
    }
    return true;
  }
  V8Units units(bool is_wide = false) const {
    const std::size_t count = bytes.size() / (is_wide ? 2 : 1);
    return {kSourceAddress, static_cast<std::uint32_t>(count), is_wide};
  }
};

V8Place place_in(ScriptSource& source, std::uint32_t position, bool is_wide = false) {
  const auto cache = std::make_unique<V8LineCache>();
  ObjectPieces reader({&ScriptSource::read, &source});
  V8Place place;
  EXPECT_TRUE(cache->find(1, 2, source.units(is_wide), position, reader, place));
  return place;
}

void expect_place(V8Place place, std::uint32_t line, std::uint32_t column) {
  EXPECT_EQ(place.line, line);
  EXPECT_EQ(place.column, column);
}

TEST(V8LineCache, CountsAllLineEnds) {
  ScriptSource source{.bytes = "a\nb\r\nc\rd\n\nx"};
  expect_place(place_in(source, 0), 1, 1);
  expect_place(place_in(source, 1), 1, 2);
  expect_place(place_in(source, 2), 2, 1);
  expect_place(place_in(source, 5), 3, 1);
  expect_place(place_in(source, 7), 4, 1);
  expect_place(place_in(source, 10), 6, 1);
  expect_place(place_in(source, 11), 6, 2);
}

TEST(V8LineCache, CountsLineSeparatorsOfUnicode) {
  const std::u16string text = u"a\u2028b\u2029c\nd";
  ScriptSource source;
  source.bytes.assign(reinterpret_cast<const char*>(text.data()), text.size() * 2);
  expect_place(place_in(source, 2, true), 2, 1);
  expect_place(place_in(source, 4, true), 3, 1);
  expect_place(place_in(source, 6, true), 4, 1);
}

TEST(V8LineCache, ReadsALongSourceOnce) {
  ScriptSource source;
  while (source.bytes.size() < 1'000'000) source.bytes += std::string(99, 'x') + "\n";
  const auto cache = std::make_unique<V8LineCache>();
  ObjectPieces reader({&ScriptSource::read, &source});
  V8Place place;
  EXPECT_TRUE(cache->find(1, 2, source.units(), 999'950, reader, place));
  expect_place(place, 10'000, 51);
  const std::uint64_t reads = source.reads;
  for (std::uint32_t position = 50; position < 1'000'000; position += 50'000) {
    EXPECT_TRUE(cache->find(1, 2, source.units(), position, reader, place));
    expect_place(place, position / 100 + 1, position % 100 + 1);
  }
  EXPECT_LT(source.reads - reads, reads / 2);
}

// A server runs functions of some dozens of files, in turn.
TEST(V8LineCache, KeepsTheCountsOfManySources) {
  constexpr std::uint64_t kSources = 40;
  constexpr std::uint32_t kLength = 20'000;
  ScriptSource source;
  while (source.bytes.size() < kLength) source.bytes += std::string(99, 'x') + "\n";
  const auto cache = std::make_unique<V8LineCache>();
  ObjectPieces reader({&ScriptSource::read, &source});
  const auto reads_of_all = [&] {
    source.reads = 0;
    for (std::uint64_t number = 1; number <= kSources; ++number) {
      V8Place place;
      reader.forget();
      EXPECT_TRUE(cache->find(1, number * 512, source.units(), kLength - 50, reader, place));
      expect_place(place, kLength / 100, 51);
    }
    return source.reads;
  };
  const std::uint64_t first = reads_of_all();
  EXPECT_LT(reads_of_all(), first / 4);
}

// Another source at the same address; and one that has moved.
TEST(V8LineCache, CountsAnotherSourceAnew) {
  ScriptSource source{.bytes = std::string(5000, '\n')};
  const auto cache = std::make_unique<V8LineCache>();
  V8Place place;
  const auto find = [&](std::uint64_t script) {
    ObjectPieces reader({&ScriptSource::read, &source});
    EXPECT_TRUE(cache->find(script, 2, source.units(), 4500, reader, place));
  };
  find(1);
  expect_place(place, 4501, 1);
  source.bytes.assign(5000, 'x');
  find(3);
  expect_place(place, 1, 4501);
  source.bytes.assign(5000, '\n');
  cache->forget(2);
  find(3);
  expect_place(place, 4501, 1);
}

TEST(V8LineCache, KnowsNoPlaceBehindTheEnd) {
  ScriptSource source{.bytes = "a\n"};
  expect_place(place_in(source, 2), 2, 1);
  expect_place(place_in(source, 3), 0, 0);
}

// A line that has the border of two blocks between the characters of its end.
TEST(V8LineCache, CountsAnEndOfTwoCharactersOnce) {
  ScriptSource source{.bytes =
                          std::string(511, 'x') + "\r\n" + std::string(8192 - 514, 'y') + "\r\nz"};
  expect_place(place_in(source, 513), 2, 1);
  expect_place(place_in(source, 8193), 3, 1);
}

}  // namespace
}  // namespace swipr::runtimes
