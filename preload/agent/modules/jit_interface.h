// Code that the program tells debuggers about by GDB's JIT interface: a list of ELF objects in
// memory, which each image can have one of. Found by the name of its head in the image's dynamic
// symbols, read whenever its head or its first entry has changed. Nobody reports what is withdrawn:
// CodeWitness guards against what happens between two looks. An image without such a symbol costs
// nothing after it was met; a list costs two small reads a look.
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
  std::uint64_t id = 0;  // from 1, never used again
  Moment since{0};       // not before; 0: it was there when looking began
  Moment gone{0};        // not after; 0: it is there
  bool seen = false;     // in the reading under way
};

class JitInterface {
 public:
  static constexpr std::size_t kMaxDescriptors = 16;
  static constexpr std::size_t kMaxEntries = 4096;     // of all lists
  static constexpr std::size_t kMaxBytes = 256 << 20;  // of their sections' headers and symbols
  // As many of those that have gone are remembered until recordings have written that.
  static constexpr std::size_t kMaxRemembered = 2 * kMaxEntries;

  // Begins with no descriptor; those of the present images are then added. What is beyond
  // kMaxDescriptors is left out.
  void forget_descriptors() noexcept { watch_count_ = 0; }
  void add_descriptor(std::uint64_t address) noexcept;
  bool has_descriptors() const noexcept { return watch_count_ != 0; }

  // A list is not what it was at the last read, or a walk has found other code than was read.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept;
  // Reads all lists and adds the CFI that their objects have and that is not registered with the
  // program's unwinder, too.
  void read(ProcMemory& memory, unwind::RegisteredCfi& cfi) noexcept;

  // At the last read there was more than the bounds let in.
  bool left_out() const noexcept { return left_out_; }
  // All that is there, and much of what has gone. Changes whenever the count does.
  std::span<const JitEntry> entries() const noexcept { return {entries_.data(), entries_.size()}; }
  std::uint64_t change_count() const noexcept { return change_count_; }
  // Copies the object's symbols. False: it is no longer what was met, or there is no memory.
  bool open(const JitEntry& entry, unwind::JitObject& object) const noexcept;

  std::atomic<bool>& contradicted() noexcept { return contradicted_; }
  // Forgets everything: there are no recordings any more.
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
  // What shows that something came or went: both happen at the head of the list or are named there.
  struct Head {
    Descriptor descriptor;
    Link first;
    friend bool operator==(const Head&, const Head&) = default;
  };
  struct Watch {
    std::uint64_t address = 0;
    Head seen;
  };

  // What a reading of all lists may still take.
  struct Left {
    std::size_t entries = kMaxEntries;
    std::size_t bytes = kMaxBytes;
  };
  void read_list(const Watch& watch, Left& left, unwind::RegisteredCfi& cfi) noexcept;
  void note(JitEntry met) noexcept;
  JitEntry* find_free() noexcept;
  void note_gone() noexcept;
  static Head read_head(std::uint64_t address, const ProcMemory& memory) noexcept;

  std::array<Watch, kMaxDescriptors> watches_{};
  std::size_t watch_count_ = 0;
  std::atomic<bool> contradicted_{false};
  ProcMemory* memory_ = nullptr;  // of the last read
  MappedArray<JitEntry> entries_;
  std::uint64_t change_count_ = 0;
  bool left_out_ = false;
  std::uint64_t last_id_ = 0;
  std::size_t last_found_ = 0;  // where the search for the next one begins
  Moment unchanged_{0};         // the last look that found nothing new; 0: none yet
};

}  // namespace swipr::agent
