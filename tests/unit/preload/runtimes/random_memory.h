// Memory of random contents for readers that must bear anything.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>

#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// Every address leads to some bytes of a small memory.
class RandomMemory {
 public:
  using MakeWord = std::uint64_t (*)(std::mt19937_64& random);
  using IsUnreadable = bool (*)(std::uint64_t address);

  RandomMemory(std::uint64_t seed, MakeWord make_word, IsUnreadable is_unreadable)
      : random_(seed), is_unreadable_(is_unreadable) {
    for (std::uint64_t& word : words_) word = make_word(random_);
  }

  unwind::ImageReader reader() { return {&read, this}; }
  std::mt19937_64& random() { return random_; }
  std::uint64_t reads = 0;

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    auto& self = *static_cast<RandomMemory*>(state);
    const auto bytes = std::as_bytes(std::span(self.words_));
    ++self.reads;
    if (self.is_unreadable_(address)) return false;
    for (std::size_t done = 0; done < out.size();) {
      const std::size_t at = (address + done) % bytes.size();
      const std::size_t count = std::min(out.size() - done, bytes.size() - at);
      std::memcpy(out.data() + done, bytes.data() + at, count);
      done += count;
    }
    return true;
  }

  std::mt19937_64 random_;
  IsUnreadable is_unreadable_;
  std::array<std::uint64_t, 1021> words_{};  // a prime: objects lie at all phases
};

}  // namespace swipr::runtimes
