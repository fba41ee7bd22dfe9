// Checksums of code, computed when its CFI is read. Some code is withdrawn and replaced
// without notice (GDB's JIT interface is a list in the program's memory): a walk uses CFI of such
// code only if the bytes of the code are unchanged.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/unwind/base/code_hash.h"

namespace swipr::unwind {

// The number of bytes that are checked from the start of a function. Limited because the signal
// handler waits for it: 0.3 µs for 256 bytes, 1.2 µs for all. It includes the prologue, which
// determines the size of the frame.
inline constexpr std::uint64_t kMaxChecksumBytes = 4096;

struct CodeChecksum {
  std::uint64_t begin = 0;
  std::uint32_t bytes = 0;
  std::uint32_t hash = 0;

  // Whole aligned words: reading one touches one page.
  Range<std::uint64_t> words() const noexcept {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    const std::uint64_t end = begin + std::min<std::uint64_t>(bytes, kMaxChecksumBytes);
    return {begin & -kWord, (end + kWord - 1) & -kWord};
  }
  static std::uint32_t fold(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash);
  }
};

// All checksums of a code map.
struct CodeChecksums {
  std::span<const CodeChecksum> sorted;       // by begin
  std::atomic<bool>* contradicted = nullptr;  // set by a walk that finds other code

  SWIPR_SIGNAL_SAFE const CodeChecksum* find(std::uint64_t pc) const noexcept {
    const auto* above = std::upper_bound(
        sorted.data(), sorted.data() + sorted.size(), pc,
        [](std::uint64_t wanted, const CodeChecksum& each) { return wanted < each.begin; });
    if (above == sorted.data()) return nullptr;
    const CodeChecksum* const found = above - 1;
    return pc - found->begin < found->bytes ? found : nullptr;
  }
};

// Verifies checksums for one walk, each of them once. Bounds: kMaxWords words of code; after that
// no code counts as unchanged.
class ChecksumVerifier {
 public:
  // Context: signal handler or control thread. True: the code at `pc` is unchanged or has no
  // checksum.
  template <typename Reader>
  SWIPR_SIGNAL_SAFE bool is_unchanged(const CodeChecksums& all, std::uint64_t pc,
                                      Reader& reader) noexcept {
    const CodeChecksum* const checksum = all.find(pc);
    if (checksum == nullptr) return true;
    for (const CodeChecksum* const known : confirmed_) {
      if (known == checksum) return true;
    }
    if (!is_true(*checksum, reader)) {
      all.contradicted->store(true, std::memory_order_relaxed);
      return false;
    }
    confirmed_[count_++ % confirmed_.size()] = checksum;
    return true;
  }

 private:
  template <typename Reader>
  bool is_true(const CodeChecksum& checksum, Reader& reader) noexcept {
    std::uint64_t hash = 0;
    const Range<std::uint64_t> words = checksum.words();
    for (std::uint64_t at = words.begin; at != words.end; at += sizeof hash) {
      std::uint64_t word = 0;
      if (words_left_ == 0 || !reader.read_word(at, word)) return false;
      --words_left_;
      hash = hash_word(hash, word);
    }
    return CodeChecksum::fold(hash) == checksum.hash;
  }

  static constexpr std::uint32_t kMaxWords = 16384;  // 30 µs
  std::array<const CodeChecksum*, 2> confirmed_{};   // of recursion
  std::uint32_t count_ = 0;
  std::uint32_t words_left_ = kMaxWords;
};

}  // namespace swipr::unwind
