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

#include "preload/agent/mapped_memory.h"
#include "preload/agent/proc_memory.h"
#include "preload/unwind/registered_cfi.h"

namespace swipr::agent {

class JitInterface {
 public:
  static constexpr std::size_t kMaxDescriptors = 16;
  static constexpr std::size_t kMaxEntries = 4096;  // of all lists

  // Begins with no descriptor; those of the present images are then added. What is beyond
  // kMaxDescriptors is left out.
  void forget_descriptors() noexcept { watch_count_ = 0; }
  void add_descriptor(std::uint64_t address) noexcept;
  bool has_descriptors() const noexcept { return watch_count_ != 0; }

  // A list is not what it was at the last read, or a walk has found other code than was read.
  bool is_outdated(const ProcMemory& memory) const noexcept;
  // Reads all lists and adds the CFI that their objects have and that is not registered with the
  // program's unwinder, too.
  void read(ProcMemory& memory, unwind::RegisteredCfi& cfi) noexcept;

  std::atomic<bool>& contradicted() noexcept { return contradicted_; }

 private:
  // Source: the manual's declarations.
  struct Descriptor {
    std::uint32_t version = 0;
    std::uint32_t action_flag = 0;
    std::uint64_t relevant_entry = 0;
    std::uint64_t first_entry = 0;
    friend bool operator==(const Descriptor&, const Descriptor&) = default;
  };
  struct Entry {
    std::uint64_t next = 0;
    std::uint64_t previous = 0;
    std::uint64_t object = 0;
    std::uint64_t object_bytes = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  // What shows that something came or went: both happen at the head of the list or are named there.
  struct Head {
    Descriptor descriptor;
    Entry first;
    friend bool operator==(const Head&, const Head&) = default;
  };
  struct Watch {
    std::uint64_t address = 0;
    Head seen;
  };

  static Head read_head(std::uint64_t address, const ProcMemory& memory) noexcept;

  std::array<Watch, kMaxDescriptors> watches_{};
  std::size_t watch_count_ = 0;
  std::atomic<bool> contradicted_{false};
};

}  // namespace swipr::agent
