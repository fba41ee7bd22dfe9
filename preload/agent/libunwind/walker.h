// Walks by libunwind over memory that swipr reads for it: a copy of a stack, or the stack of a
// blocked thread. It gets the .eh_frame of images, but neither .debug_frame nor code that is
// registered or announced at run time: there it follows frame pointers.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>

#include "preload/agent/libunwind/library.h"
#include "preload/agent/libunwind/search_table.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent::libunwind {

class Walker {
 public:
  // False: `why` states what is missing. May be called again.
  // Allocates: by dlopen and libunwind, with the program's malloc.
  bool open(ProcMemory& memory, TextWriter& why) noexcept;
  bool is_open() const noexcept { return space_ != nullptr; }

  // As unwind::walk. kRoot: libunwind found an end, and CFI for the frame there. Of stacks deeper
  // than wire::kMaxFrames the outer frames are missing.
  unwind::WalkEnd walk(const unwind::Registers& registers, unwind::StackReader stack,
                       const ModuleMap& modules, ProcMemory& memory,
                       unwind::FrameBuffer& frames) noexcept;
  // The last walk reached code of this library, most of which is built without CFI: swipr's tables
  // handle it by other means.
  bool met_swipr() const noexcept { return met_swipr_; }

 private:
  static constexpr std::size_t kMaxTables = 64;

  static Walker& of(void* argument) noexcept { return *static_cast<Walker*>(argument); }
  static int find_proc_info(AddressSpace* space, Word ip, ProcedureInfo* info, int need,
                            void* argument) noexcept;
  static int access_memory(AddressSpace* space, Word address, Word* value, int write,
                           void* argument) noexcept;
  static int access_register(AddressSpace* space, int number, Word* value, int write,
                             void* argument) noexcept;
  bool finds_itself(ProcMemory& memory) noexcept;
  unwind::WalkEnd step_through(unwind::FrameBuffer& frames) noexcept;
  const SearchTable* table_of(std::uint64_t ip) noexcept;
  const SearchTable* keep(const SearchTable& table) noexcept;
  const SearchTable* find_kept(std::uint64_t address) const noexcept;
  void forget_tables() noexcept;

  Library library_;
  AddressSpace* space_ = nullptr;
  std::array<SearchTable, kMaxTables> tables_{};
  std::size_t table_count_ = 0;  // stored; later ones replace the oldest
  std::uint64_t change_count_ = 0;
  Cursor cursor_{};  // a member, because the control thread's stack is small
  // Of the current walk.
  const unwind::Registers* registers_ = nullptr;
  unwind::StackReader stack_{};
  StackPieces* images_ = nullptr;
  const ModuleMap* modules_ = nullptr;
  ProcMemory* memory_ = nullptr;
  bool has_no_cfi_ = false;  // of the frame of the last step
  Range<std::uint64_t> own_image_;
  bool met_swipr_ = false;
};

}  // namespace swipr::agent::libunwind
