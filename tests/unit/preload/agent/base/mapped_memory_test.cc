#include "preload/agent/base/mapped_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "preload/unwind/base/architecture.h"

namespace swipr::agent {
namespace {

// The kernel's page that it is in. mincore(2): ENOMEM for what is not mapped.
bool page_is_mapped(void* memory) {
  const auto begin = reinterpret_cast<std::uint64_t>(memory) & -unwind::page_bytes();
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void*>(begin), 1, &resident) == 0;
}

bool holds_zeros(const std::byte* memory, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [](std::byte value) { return value == std::byte{}; });
}

TEST(MapMemory, SmallPiecesShareAMappingThatGoesWithTheLast) {
  auto* const first = static_cast<std::byte*>(map_memory(kPageBytes));
  auto* const second = static_cast<std::byte*>(map_memory(2 * kPageBytes));
  EXPECT_EQ(second, first + kPageBytes);
  first[0] = second[0] = std::byte{1};
  unmap_memory(first, kPageBytes);
  EXPECT_TRUE(page_is_mapped(first));
  EXPECT_TRUE(page_is_mapped(second));
  unmap_memory(second, 2 * kPageBytes);
  EXPECT_FALSE(page_is_mapped(first));
  EXPECT_FALSE(page_is_mapped(second));
}

TEST(MapMemory, PiecesAreZeroedAndApartFromEachOtherWhenTheMappingIsFull) {
  std::byte* pieces[100];
  for (std::byte*& piece : pieces) {
    piece = static_cast<std::byte*>(map_memory(2 * kPageBytes));
    ASSERT_TRUE(holds_zeros(piece, 2 * kPageBytes));
    std::fill_n(piece, 2 * kPageBytes, std::byte{0xff});
  }
  for (std::byte* piece : pieces) unmap_memory(piece, 2 * kPageBytes);
  for (std::byte* piece : pieces) EXPECT_FALSE(page_is_mapped(piece));
}

TEST(MapMemory, WhatOutlivesRecordingsKeepsNoPieces) {
  void* const piece = map_memory(kPageBytes);
  void* const lasting = map_memory(kPageBytes, Lifetime::kProcess);
  unmap_memory(piece, kPageBytes);
  EXPECT_FALSE(page_is_mapped(piece));
  EXPECT_TRUE(page_is_mapped(lasting));
  unmap_memory(lasting, kPageBytes);
}

TEST(MappedArray, KeepsItsValuesWhereverItGrows) {
  MappedArray<int> first;
  MappedArray<int> second;
  ASSERT_TRUE(first.push_back(0));
  ASSERT_TRUE(second.push_back(0));  // first can no longer grow in place
  for (int value = 1; value < 200'000; ++value) {
    ASSERT_TRUE(first.push_back(value));
    ASSERT_TRUE(second.push_back(value));
  }
  std::vector<int> all(200'000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(std::equal(all.begin(), all.end(), first.begin(), first.end()));
  EXPECT_TRUE(std::equal(all.begin(), all.end(), second.begin(), second.end()));
  first.release();
  second.release();
}

TEST(MapMemory, TheChildOfAForkStartsAnew) {
  void* const piece = map_memory(kPageBytes);
  const pid_t child = ::fork();
  if (child == 0) {
    forget_mapped_memory();
    auto* const own = static_cast<std::byte*>(map_memory(kPageBytes));
    own[0] = std::byte{1};  // the parent's mapping was not inherited
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  unmap_memory(piece, kPageBytes);
}

}  // namespace
}  // namespace swipr::agent
