#include "common/core/duration_buckets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace swipr {
namespace {

TEST(DurationBuckets, BucketsFollowEachOther) {
  for (std::size_t bucket = 0; bucket + 1 < kBucketCount; ++bucket) {
    ASSERT_EQ(bucket_of(bucket_begin(bucket)), bucket);
    ASSERT_EQ(bucket_of(bucket_begin(bucket + 1) - 1), bucket);
  }
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), kBucketCount - 1);
}

TEST(DurationBuckets, MiddlesAreWithinTwoPercent) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t value = random() >> (1 + random() % 62);
    const std::size_t bucket = bucket_of(value);
    const double begin = static_cast<double>(bucket_begin(bucket));
    const double middle = (begin + static_cast<double>(bucket_begin(bucket + 1) - 1)) / 2;
    ASSERT_LE(std::abs(middle - static_cast<double>(value)), 0.016 * static_cast<double>(value))
        << value;
  }
}

}  // namespace
}  // namespace swipr
