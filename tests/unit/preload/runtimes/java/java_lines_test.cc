#include "preload/runtimes/java/java_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace swipr::runtimes {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kTableAddress = 0x1000;

bool read_java_bytes(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const auto& bytes = *static_cast<const Bytes*>(state);
  const std::uint64_t at = address - kTableAddress;
  if (at + out.size() > bytes.size()) return false;
  std::memcpy(out.data(), bytes.data() + at, out.size());
  return true;
}

std::uint32_t java_line(std::uint32_t version, Bytes bytes, std::uint32_t position) {
  return find_java_line(version, position, {kTableAddress, kTableAddress + bytes.size()},
                        {&read_java_bytes, &bytes});
}

std::int64_t first_number(std::uint32_t version, Bytes bytes) {
  JavaNumbers numbers(version, {kTableAddress, kTableAddress + bytes.size()},
                      {&read_java_bytes, &bytes});
  std::uint32_t value = 0;
  return numbers.next(value) ? std::int64_t{value} : -1;
}

TEST(JavaNumbers, HaveOneToFiveBytes) {
  EXPECT_EQ(first_number(17, {0}), 0);
  EXPECT_EQ(first_number(17, {191}), 191);
  EXPECT_EQ(first_number(17, {192, 0}), 192);
  EXPECT_EQ(first_number(17, {193, 2}), 193 + 2 * 64);
  EXPECT_EQ(first_number(17, {255, 255, 255, 255, 255}), std::uint32_t{255u * 17'043'521u});
}

TEST(JavaNumbers, ExcludeZeroSince20) {
  EXPECT_EQ(first_number(20, {0}), -1);
  EXPECT_EQ(first_number(20, {1}), 0);
  EXPECT_EQ(first_number(25, {193, 2}), 192 + 64);
}

TEST(JavaNumbers, EndWithTheirMemory) {
  EXPECT_EQ(first_number(17, {}), -1);
  EXPECT_EQ(first_number(17, {200, 200}), -1);
}

TEST(JavaLines, BelongToThePositionsFromTheirs) {
  const Bytes table = {0x0 << 3 | 5, 4 << 3 | 2, 6 << 3 | 1, 0};
  EXPECT_EQ(java_line(17, table, 0), 5u);
  EXPECT_EQ(java_line(17, table, 3), 5u);
  EXPECT_EQ(java_line(17, table, 4), 7u);
  EXPECT_EQ(java_line(17, table, 10), 8u);
  EXPECT_EQ(java_line(17, table, 1000), 8u);
}

TEST(JavaLines, MayGoBack) {
  const Bytes table = {7, 255, 10, 7, 4 << 3 | 1, 0};  // +5, −4
  EXPECT_EQ(java_line(17, table, 5), 3u);
  EXPECT_EQ(java_line(17, table, 9), 4u);
}

TEST(JavaLines, EndWithTheirTable) {
  EXPECT_EQ(java_line(17, {}, 5), 0u);
  EXPECT_EQ(java_line(17, {0, 7, 7}, 5), 0u);
  EXPECT_EQ(java_line(17, {7, 255}, 5), 7u);
}

}  // namespace
}  // namespace swipr::runtimes
