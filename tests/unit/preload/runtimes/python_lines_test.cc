#include "preload/runtimes/python/python_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint32_t line_of(PythonLineFormat format, Bytes table, std::uint32_t position) {
  const unwind::ImageReader reader{
      [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
        const auto& bytes = *static_cast<Bytes*>(state);
        if (address + out.size() > bytes.size()) return false;
        std::memcpy(out.data(), bytes.data() + address, out.size());
        return true;
      },
      &table};
  return find_python_line(format, 10, position, {0, table.size()}, reader);
}

TEST(PythonLines, AreTheFirstLineBeforeTheFunctionBegins) {
  for (const auto format :
       {PythonLineFormat::kLnotab, PythonLineFormat::kPairs, PythonLineFormat::kLocations}) {
    EXPECT_EQ(line_of(format, {0, 1, 2, 3}, kNoPosition), 10u);
  }
}

TEST(PythonLines, AreSumsOfLnotab) {
  const Bytes table = {0, 1, 6, 1, 8, 0xfe /* −2 */, 255, 0, 1, 127};
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, table, 0), 11u);
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, table, 5), 11u);
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, table, 6), 12u);
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, table, 14), 10u);
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, table, 270), 137u);
  EXPECT_EQ(line_of(PythonLineFormat::kLnotab, {}, 4), 10u);
}

TEST(PythonLines, AreSumsOfPairs) {
  const Bytes table = {4, 1, 2, 0x80 /* none */, 0, 127, 6, 0xff /* −1 */};
  EXPECT_EQ(line_of(PythonLineFormat::kPairs, table, 0), 11u);
  EXPECT_EQ(line_of(PythonLineFormat::kPairs, table, 4), 0u);
  EXPECT_EQ(line_of(PythonLineFormat::kPairs, table, 6), 137u);
  EXPECT_EQ(line_of(PythonLineFormat::kPairs, table, 12), 0u);
}

TEST(PythonLines, AreSumsOfLocations) {
  const Bytes table = {
      0x80 | 11 << 3 | 0, 1,        2,        // 1 unit, line +1
      0x80 | 3 << 3 | 1,  0x15,               // 2 units, the same line
      0x80 | 15 << 3 | 0,                     // 1 unit without a line
      0x80 | 13 << 3 | 0, 0x40 | 8, 4,        // 1 unit, line +132 (264 / 2)
      0x80 | 14 << 3 | 7, 5,        0, 1, 2,  // 8 units, line −2
  };
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected = {
      {0, 11}, {2, 11}, {4, 11}, {6, 0}, {8, 143}, {10, 141}, {24, 141}, {26, 0}};
  for (const auto& [position, line] : expected) {
    EXPECT_EQ(line_of(PythonLineFormat::kLocations, table, position), line) << position;
  }
}

TEST(PythonLines, OfALongTableAreReadInPieces) {
  Bytes table;
  for (unsigned i = 0; i < 20'000; ++i) table.insert(table.end(), {2, 1});
  EXPECT_EQ(line_of(PythonLineFormat::kPairs, table, 30'000), 15'011u);
}

TEST(PythonLines, EndWhereTheTableIsUnreadable) {
  const unwind::ImageReader unreadable{
      [](void*, std::uint64_t, std::span<std::byte>) noexcept { return false; }, nullptr};
  EXPECT_EQ(
      find_python_line(PythonLineFormat::kLocations, 10, 4, {0, ~std::uint64_t{0}}, unreadable),
      0u);
}

}  // namespace
}  // namespace swipr::runtimes
