#include "preload/unwind/base/growable_array.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace swipr::unwind {
namespace {

// mincore(2): ENOMEM for what is not mapped.
bool is_mapped(const std::byte* page) {
  unsigned char resident = 0;
  return ::mincore(const_cast<std::byte*>(page), 1, &resident) == 0;
}

TEST(GrowableArray, KeepsItsValuesWhereverItGrows) {
  GrowableArray<std::uint64_t> first;
  GrowableArray<std::uint64_t> second;
  for (std::uint64_t value = 0; value < 200'000; ++value) {
    ASSERT_TRUE(first.push_back(value));
    ASSERT_TRUE(second.push_back(~value));
  }
  for (std::uint64_t value = 0; value < 200'000; ++value) {
    ASSERT_EQ(first[value], value);
    ASSERT_EQ(second[value], ~value);
  }
}

// Whatever the kernel's page size is, and wherever in a page the elements end.
TEST(GrowableArray, ReleasesAllPagesBehindItsElements) {
  constexpr std::size_t kLeastStep = sizeof(std::uint64_t) * 4096;  // it reserves multiples of it
  const std::size_t page = page_bytes();
  const auto round_up = [](std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  };
  for (std::size_t count = 1; count <= 64 * 1024; count += 509) {
    GrowableArray<std::uint64_t> array;
    ASSERT_TRUE(array.resize(count));
    const auto* const begin = reinterpret_cast<const std::byte*>(array.span().data());
    const std::size_t used = round_up(count * sizeof(std::uint64_t), page);
    const Mapping mapping = array.release();
    ASSERT_EQ(mapping.memory, begin);
    EXPECT_TRUE(is_mapped(begin + used - page));
    const std::size_t reserved = round_up(count * sizeof(std::uint64_t), kLeastStep);
    for (std::size_t at = used; at < reserved; at += page) {
      EXPECT_FALSE(is_mapped(begin + at)) << count << " elements, at " << at;
    }
    ::munmap(mapping.memory, mapping.bytes);
    EXPECT_FALSE(is_mapped(begin));
  }
}

}  // namespace
}  // namespace swipr::unwind
