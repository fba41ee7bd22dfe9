// Readers of objects of a language's virtual machine. They have one interface, so that one walk
// serves both the handler and the control thread:
//   template <typename T> bool read_value(std::uint64_t address, T& out) noexcept;
// for integers and small arrays of bytes, at any address; false: not all of it readable, or too
// many pages were asked about. WalkLoop's readers (preload/unwind/walk) read words of one stack,
// which lies in one place; objects are scattered, so both readers here have a cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::uint64_t kObjectPageBytes = 4096;

// The pages that one walk knows to be readable: 32 sets of 2, because a direct-mapped cache of that
// size asks eight times as often. Kept outside the stack (516 bytes).
// Context: signal handler, one owner.  Allocates: never.  Errno: kept.
class PageCache {
 public:
  // A walk asks for at most so many pages (0.15 µs each); beyond, everything is unreadable.
  static constexpr std::uint32_t kMaxQuestions = 256;

  // Before each walk: pages may have been unmapped since.
  SWIPR_SIGNAL_SAFE void clear() noexcept;
  // At most a page of bytes. Not inline: walks read in dozens of places.
  SWIPR_SIGNAL_SAFE bool are_readable(std::uint64_t address, std::size_t bytes) noexcept;
  std::uint32_t questions() const noexcept { return questions_; }
  bool is_exhausted() const noexcept { return questions_ == kMaxQuestions; }

 private:
  static constexpr std::size_t kSets = 32;
  struct Set {
    std::uint64_t newer = ~std::uint64_t{0};  // no page's address
    std::uint64_t older = ~std::uint64_t{0};
  };
  bool is_readable(std::uint64_t page) noexcept {
    const Set& set = sets_[page / kObjectPageBytes % kSets];
    return set.newer == page || set.older == page || ask(page);
  }
  SWIPR_SIGNAL_SAFE bool ask(std::uint64_t page) noexcept;

  std::array<Set, kSets> sets_{};
  std::uint32_t questions_ = 0;
};

// The handler's reader: memory of its own process. If the program unmaps a page between question
// and read, the read faults: follow only what the interrupted thread itself keeps alive.
// Context: signal handler.  Allocates: never.  Errno: kept.
class ProbedObjects {
 public:
  explicit ProbedObjects(PageCache& pages) noexcept : pages_(pages) {}

  template <typename T>
  SWIPR_SIGNAL_SAFE bool read_value(std::uint64_t address, T& out) noexcept {
    if (!pages_.are_readable(address, sizeof(T))) return false;
    out = read_unasked<T>(address);
    return true;
  }
  // At most a page.
  SWIPR_SIGNAL_SAFE bool read(std::uint64_t address, std::span<std::byte> out) noexcept {
    if (!pages_.are_readable(address, out.size())) return false;
    copy_unasked(address, out);
    return true;
  }
  // Where the page is known to be readable.
  // Sanitizers would report these reads: another thread may write what is read.
  template <typename T>
  __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined"))) static T
  read_unasked(std::uint64_t address) noexcept {
    struct __attribute__((packed, may_alias)) Value {
      T value;
    };
    return reinterpret_cast<const Value*>(address)->value;
  }

 private:
  __attribute__((no_sanitize("address"), no_sanitize("thread"),
                 no_sanitize("undefined"))) static void
  copy_unasked(std::uint64_t address, std::span<std::byte> out) noexcept {
    for (std::size_t at = 0; at < out.size(); ++at) {
      out[at] = *reinterpret_cast<const std::byte*>(address + at);
    }
  }

  PageCache& pages_;
};

// The control thread's reader: small pieces of memory through an ImageReader (/proc/self/mem), each
// read once. A piece lies in one page, so it is readable as a whole or not at all.
// Context: control thread, one owner. 4 KiB: not for small stacks.  Allocates: never.
class ObjectPieces {
 public:
  explicit ObjectPieces(unwind::ImageReader reader) noexcept : reader_(reader) {}

  template <typename T>
  bool read_value(std::uint64_t address, T& out) noexcept {
    return read(address, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
  }
  // False: not all of it readable. What lies in one piece was read at one moment.
  bool read(std::uint64_t address, std::span<std::byte> out) noexcept;
  unwind::ImageReader image_reader() noexcept { return {&read_of, this}; }  // of the same
  // Discards all pieces: what is read from now on is newer than this call.
  void forget() noexcept;
  std::uint64_t reads() const noexcept { return reads_; }  // made through the ImageReader so far

 private:
  static constexpr std::size_t kPieceBytes = 512;
  static constexpr std::size_t kPieces = 8;
  struct Piece {
    std::uint64_t begin = ~std::uint64_t{0};  // no piece's address
    std::array<std::byte, kPieceBytes> bytes;
  };
  const Piece* find(std::uint64_t begin) noexcept;  // nullptr: unreadable
  static bool read_of(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    return static_cast<ObjectPieces*>(state)->read(address, out);
  }

  unwind::ImageReader reader_;
  std::uint64_t reads_ = 0;
  std::size_t next_ = 0;
  std::array<Piece, kPieces> pieces_;
};

}  // namespace swipr::runtimes
