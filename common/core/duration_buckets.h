// Durations of calls in buckets: 32 for each doubling, so that a bucket's middle is within 1.6 % of
// every value in it. The process counts in them, the stream has their numbers.  Signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr {

inline constexpr unsigned kBucketBits = 5;
inline constexpr std::size_t kBucketCount = (64 - kBucketBits) * (1u << kBucketBits) + 32;

// Values below 64 have a bucket each.
constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
  if (value < 2u << kBucketBits) return static_cast<std::size_t>(value);
  const unsigned shift = 63 - kBucketBits - static_cast<unsigned>(__builtin_clzll(value));
  return (std::size_t{shift} << kBucketBits) + static_cast<std::size_t>(value >> shift);
}

// The smallest value of a bucket.
constexpr std::uint64_t bucket_begin(std::size_t bucket) noexcept {
  if (bucket < 2u << kBucketBits) return bucket;
  const std::size_t shift = (bucket >> kBucketBits) - 1;
  return std::uint64_t{(bucket & ((1u << kBucketBits) - 1)) | 1u << kBucketBits} << shift;
}

}  // namespace swipr
