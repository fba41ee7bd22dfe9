// The words of a stack that a search for a lost caller needs: those that point into code, which may
// be return addresses, and those that point to the stack, which may be saved frame pointers. The
// handler stores only these, because a copy of the stack would be ten times as large: a single
// function of a linear algebra library may use 33 KiB of stack.
// Context: signal handler or control thread.  Allocates: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/addresses.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::unwind {

// The part of a stack that is scanned.
inline constexpr std::uint64_t kScannedBytes = std::uint64_t{128} << 10;

// A word with its position: index of the word from `from` on in the high bits, value in the low
// bits.
inline constexpr unsigned kStackWordBits = 48;
inline constexpr std::uint64_t kStackWordMask = (std::uint64_t{1} << kStackWordBits) - 1;
static_assert(kUserAddressBits <= kStackWordBits);
static_assert(kScannedBytes / sizeof(std::uint64_t) <= 1u << (64 - kStackWordBits));

// Fills `out` in ascending order and returns the number of entries. The last entry is not a word:
// its position is the end of the scanned part. 0 entries: `from` is no address of user space.
// Bounds: kScannedBytes, and the size of `out`.
template <typename Reader>
std::size_t keep_stack_words(const CodeMap& map, Reader& reader, std::uint64_t from,
                             std::span<std::uint64_t> out) noexcept {
  constexpr std::uint64_t kUserEnd = std::uint64_t{1} << kUserAddressBits;
  const auto ranges = map.ranges();
  if (out.empty() || from >= kUserEnd) return 0;
  const std::uint64_t lowest = ranges.empty() ? 0 : ranges.front().start;
  const std::uint64_t highest = ranges.empty() ? 0 : std::min(ranges.back().end, kUserEnd);
  std::size_t count = 0;
  std::uint64_t offset = 0;
  for (; offset < kScannedBytes && count + 1 < out.size(); offset += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    if (!reader.read_word(from + offset, word)) break;
    word = plain_return_address(original_return_address(word));
    const bool is_stack = word - from < kScannedBytes && word < kUserEnd;
    const bool may_be_code = word > lowest && word <= highest;
    if (!is_stack && !(may_be_code && map.find(word - 1) != nullptr)) continue;
    out[count++] = offset / sizeof word << kStackWordBits | word;
  }
  out[count++] = offset / sizeof offset << kStackWordBits;
  return count;
}

class StackWords {
 public:
  StackWords() noexcept = default;
  // `words` as keep_stack_words made them from the stack at `from`.
  StackWords(std::uint64_t from, std::span<const std::uint64_t> words) noexcept
      : from_(from), words_(words) {}

  std::size_t count() const noexcept { return words_.empty() ? 0 : words_.size() - 1; }
  std::uint64_t address(std::size_t index) const noexcept {
    return from_ + (words_[index] >> kStackWordBits) * sizeof(std::uint64_t);
  }
  std::uint64_t value(std::size_t index) const noexcept { return words_[index] & kStackWordMask; }
  bool covers(std::uint64_t address) const noexcept {
    return !words_.empty() && address >= from_ && address < this->address(count()) &&
           (address - from_) % sizeof(std::uint64_t) == 0;
  }
  // The index of the word at this address; count(): it was not stored.
  std::size_t find(std::uint64_t address) const noexcept {
    const std::uint64_t place = (address - from_) / sizeof(std::uint64_t) << kStackWordBits;
    const auto kept = words_.first(count());
    const auto at = std::lower_bound(kept.begin(), kept.end(), place);
    const bool is_kept =
        covers(address) && at != kept.end() && *at >> kStackWordBits << kStackWordBits == place;
    return is_kept ? static_cast<std::size_t>(at - kept.begin()) : count();
  }
  // A word that was not stored is not an address and reads as 1.
  bool read_word(std::uint64_t address, std::uint64_t& out) const noexcept {
    if (!covers(address)) return false;
    const std::size_t index = find(address);
    out = index == count() ? 1 : value(index);
    return true;
  }

 private:
  std::uint64_t from_ = 0;
  std::span<const std::uint64_t> words_;
};

}  // namespace swipr::unwind
