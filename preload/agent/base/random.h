// Pseudo-random numbers: SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014. Not for secrets.
#pragma once

#include <cstdint>
#include <span>

namespace swipr::agent {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 0) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  // 0 … end - 1, uniform except for a bias of 1 in 2^64 / end. `end` > 0.
  constexpr std::int64_t below(std::int64_t end) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>(Wide{next()} * static_cast<std::uint64_t>(end) >> 64);
  }

 private:
  std::uint64_t state_;
};

// A seed, different for each recording. From the kernel's generator, or from a clock if that is
// refused. Context: control thread.
std::uint64_t random_seed() noexcept;

// From the kernel's generator. False: there is none; errno tells why. Context: control thread.
bool fill_random(std::span<std::uint8_t> bytes) noexcept;

}  // namespace swipr::agent
