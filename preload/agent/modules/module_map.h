// The process's executable mappings: what recordings name addresses by, and the code map that walks
// look in. Read from /proc/self/maps; never from the loader, whose lock the program may hold.
// Context: control thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/modules/kept_tables.h"
#include "preload/agent/modules/registered_code.h"
#include "preload/agent/modules/table_files.h"
#include "preload/agent/proc/memory_room.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

inline constexpr std::uint32_t kNoImage = ~std::uint32_t{0};

// One executable mapping. Never removed from the list while recordings run: its index is its id.
struct Module {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t path_begin = 0;  // in the text store
  std::uint32_t path_size = 0;
  std::uint32_t image = kNoImage;
  bool gone = false;
  bool seen = false;  // in the reading under way
};

// One ELF image: several executable mappings can belong to it.
struct Image {
  std::uint64_t header = 0;  // run-time address of the ELF header
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool live = false;
  bool is_built = false;  // as far as it can be; before, `built` only describes the image
  bool is_new = false;    // the table is in no file
  unwind::BuildResult built;
};

struct ModuleEvent {
  std::uint32_t module = 0;
  bool gone = false;
};

class ModuleMap {
 public:
  // Before the first refresh of recordings that begin. Where tables find no room in `room`, code
  // goes without. It must outlive the map.
  void open(const MemoryRoom* room) noexcept {
    room_ = room;
    files_.open();
  }
  bool is_short_of_room() const noexcept { return short_of_room_; }

  // Reads the map and publishes it to the handler. False: unreadable or no memory; what was known
  // stays.
  bool refresh(ProcMemory& memory) noexcept;
  // The program has registered or withdrawn CFI since the last refresh.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept {
    return registered_.is_outdated(memory, now);
  }
  // A walk met code that no module covers: refreshes, unless that was tried moments ago and found
  // nothing. True: the code map has changed.
  bool refresh_for_unknown_code(ProcMemory& memory, std::chrono::nanoseconds now) noexcept;
  // A walk ended with kUnbuilt, or will meet the code at this address: makes the table of its image
  // and gives it to the code map in use. False: that has not changed, another walk ends there, too.
  bool build_table_at(std::uint64_t address, ProcMemory& memory) noexcept;
  // Withdraws the code map. True: all memory was given back; false: a handler holds the map, call
  // again later.
  bool try_close() noexcept;
  // Frees code maps and tables that no handler can hold any more. Call now and then.
  void free_retired() noexcept;

  // Everything that ever appeared or vanished, in order. Recordings keep a cursor into it.
  std::span<const ModuleEvent> events() const noexcept { return {events_.data(), events_.size()}; }
  const JitInterface& jit_interface() const noexcept { return registered_.jit_interface(); }
  const Module& module(std::uint32_t index) const noexcept { return modules_[index]; }
  const Image* image_of(const Module& module) const noexcept;
  std::string_view path_of(const Module& module) const noexcept {
    return {texts_.data() + module.path_begin, module.path_size};
  }
  // nullptr before the first refresh.
  const unwind::CodeMap* code_map() const noexcept;
  std::chrono::nanoseconds cost_of_last_refresh() const noexcept { return cost_; }

 private:
  struct Snapshot;
  static constexpr std::size_t kMaxRetired = 16;

  bool read_text() noexcept;
  bool parse_text(ProcMemory& memory, bool& changed) noexcept;
  bool take_mapping(const MapsLine& line, std::uint64_t header, ProcMemory& memory,
                    bool& changed) noexcept;
  std::uint32_t find_module(const MapsLine& line) const noexcept;
  bool has_room_for_table(const Module& module) noexcept;
  std::uint32_t find_or_add_image(const MapsLine& line, std::uint64_t header,
                                  ProcMemory& memory) noexcept;
  void keep_table(Image& image) noexcept;
  const Module* find_live(std::uint64_t address) const noexcept;
  void find_table(const Module& module, Image& image, ProcMemory& memory) noexcept;
  bool build_image(const Module& module, ProcMemory& memory) noexcept;
  bool drop_vanished(bool& changed) noexcept;
  bool update_registered(ProcMemory& memory, bool& changed) noexcept;
  void find_jit_descriptors() noexcept;
  const unwind::UnwindTable* own_table_of(const Module& module) const noexcept;
  unwind::CodeRange range_of(const Module& module) const noexcept;
  bool publish() noexcept;
  bool set_table(std::uint64_t start, const unwind::UnwindTable* table) noexcept;
  void release_retired() noexcept;
  void destroy_dead_tables() noexcept;

  MappedArray<char> maps_text_;
  MappedArray<char> texts_;
  MappedArray<Module> modules_;
  MappedArray<std::uint32_t> live_;  // indices of the live modules by address
  MappedArray<Image> images_;
  MappedArray<ModuleEvent> events_;
  MappedArray<Range<std::uint64_t>> bare_code_;  // of a refresh under way
  RegisteredCode registered_;
  TableFiles files_;
  KeptTables kept_;
  const MemoryRoom* room_ = nullptr;
  bool short_of_room_ = false;
  Snapshot* current_ = nullptr;
  bool stale_ = true;            // current_ is not what the lists say
  bool bare_code_grew_ = false;  // an image turned out to have no table
  Snapshot* retired_[kMaxRetired] = {};
  std::size_t retired_count_ = 0;
  std::chrono::nanoseconds cost_{0};
  std::chrono::nanoseconds unknown_code_due_{0};  // CLOCK_MONOTONIC
  std::chrono::nanoseconds unknown_code_pause_{0};
};

}  // namespace swipr::agent
