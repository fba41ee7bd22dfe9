// Code that the program announces to debuggers by GDB's JIT interface: each image can have one list
// of ELF objects in memory. The list is found by the name of its head in the image's dynamic
// symbols, and read whenever its head or its first entry has changed. Withdrawals are not
// announced: CodeChecksum detects changes between two ticks. An image without such a symbol costs
// nothing after the first lookup; a list costs two small reads per tick.
// Context: control thread.
// Source: GDB manual, "JIT Compilation Interface".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/cfi/registered_cfi.h"
#include "preload/unwind/image/jit_object.h"

namespace swipr::agent {

// An object that was in one of the lists.
struct JitEntry {
  std::uint64_t place = 0;  // of the entry
  Range<std::uint64_t> object;
  std::uint64_t fingerprint = 0;
  std::uint64_t id = 0;  // from 1, never reused
  Moment since{0};       // not before; 0: it existed when recording began
  Moment gone{0};        // not after; 0: it exists
  bool seen = false;     // in the current reading
};

class JitInterface {
 public:
  static constexpr std::size_t kMaxDescriptors = 16;
  static constexpr std::size_t kMaxEntries = 4096;     // of all lists
  static constexpr std::size_t kMaxBytes = 256 << 20;  // of their sections' headers and symbols
  // Number of removed objects that are kept until recordings have written their end.
  static constexpr std::size_t kMaxRemembered = 2 * kMaxEntries;

  // Begins without descriptors; those of the current images are then added, at most
  // kMaxDescriptors.
  void forget_descriptors() noexcept { watch_count_ = 0; }
  void add_descriptor(std::uint64_t address) noexcept;
  bool has_descriptors() const noexcept { return watch_count_ != 0; }

  // A list has changed since the last read, or a walk has found other code than was read.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept;
  // Reads all lists and adds the CFI of their objects, unless it is also registered with the
  // program's unwinder.
  void read(ProcMemory& memory, unwind::RegisteredCfi& cfi) noexcept;

  // All objects that read() has read are still in a list. False: code of one may have been replaced
  // after its CFI was read, and the lists count as outdated.
  bool is_still_listed() noexcept;

  // The last read exceeded the bounds.
  bool left_out() const noexcept { return left_out_; }
  // All current objects, and many removed ones. Changes whenever the count does.
  std::span<const JitEntry> entries() const noexcept { return {entries_.data(), entries_.size()}; }
  std::uint64_t change_count() const noexcept { return change_count_; }
  // Copies the object's symbols. False: the object has changed, or there is no memory.
  bool open(const JitEntry& entry, unwind::JitObject& object) const noexcept;

  std::atomic<bool>& contradicted() noexcept { return contradicted_; }
  // Clears everything, because no recording runs any more.
  void release() noexcept;

 private:
  // Source: the manual's declarations.
  struct Descriptor {
    std::uint32_t version = 0;
    std::uint32_t action_flag = 0;
    std::uint64_t relevant_entry = 0;
    std::uint64_t first_entry = 0;
    friend bool operator==(const Descriptor&, const Descriptor&) = default;
  };
  struct Link {
    std::uint64_t next = 0;
    std::uint64_t previous = 0;
    std::uint64_t object = 0;
    std::uint64_t object_bytes = 0;
    friend bool operator==(const Link&, const Link&) = default;
  };
  // The values that change when an entry is added or removed: the head of the list and its first
  // entry.
  struct Head {
    Descriptor descriptor;
    Link first;
    friend bool operator==(const Head&, const Head&) = default;
  };
  struct Watch {
    std::uint64_t address = 0;
    Head seen;
  };

  // What is left of the bounds of one reading of all lists.
  struct Left {
    std::size_t entries = kMaxEntries;
    std::size_t bytes = kMaxBytes;
  };
  // An entry of a list, in the order in which it was read.
  struct Listed {
    std::uint64_t place = 0;
    Range<std::uint64_t> object;
    friend bool operator==(const Listed&, const Listed&) = default;
  };
  void read_list(const Watch& watch, Left& left, unwind::RegisteredCfi& cfi) noexcept;
  // Calls on_entry(Listed) for each entry until it returns false.
  template <typename OnEntry>
  void for_each_entry(const Head& head, OnEntry&& on_entry) const noexcept;
  void note(JitEntry met) noexcept;
  JitEntry* find_free() noexcept;
  void note_gone() noexcept;
  static Head read_head(std::uint64_t address, const ProcMemory& memory) noexcept;

  std::array<Watch, kMaxDescriptors> watches_{};
  std::size_t watch_count_ = 0;
  std::atomic<bool> contradicted_{false};
  ProcMemory* memory_ = nullptr;  // of the last read
  MappedArray<JitEntry> entries_;
  MappedArray<Listed> listed_;  // in the last read
  std::uint64_t change_count_ = 0;
  bool left_out_ = false;
  std::uint64_t last_id_ = 0;
  std::size_t last_found_ = 0;  // where the search for the next object begins
  Moment unchanged_{0};         // the last tick that found no change; 0: none yet
};

}  // namespace swipr::agent
