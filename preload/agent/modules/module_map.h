// The process's executable mappings: the modules of recordings, and the code map for walks. Read
// from /proc/self/maps, never from the loader, whose lock the program may hold.
// Context: control thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/modules/files/table_files.h"
#include "preload/agent/modules/image_tables.h"
#include "preload/agent/modules/kept_tables.h"
#include "preload/agent/modules/registered/registered_code.h"
#include "preload/agent/modules/runtime_registry.h"
#include "preload/agent/proc/memory_room.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

inline constexpr std::uint32_t kNoImage = ~std::uint32_t{0};

// One executable mapping, in a slot of the list. The slot of a removed mapping is reused after
// forget_gone; its id is not.
struct Module {
  std::uint64_t id = 0;  // 0: the slot is free
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t path_begin = 0;  // in the text store
  std::uint32_t path_size = 0;
  std::uint32_t image = kNoImage;
  bool gone = false;
  bool seen = false;  // in the current reading
};

// One ELF image: several executable mappings can belong to it.
struct Image {
  std::uint64_t header = 0;  // run-time address of the ELF header
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool live = false;
  bool may_have_runtime = true;  // until it was examined
  unwind::BuildResult described;
  ImageTables tables;
};

class ModuleMap {
 public:
  // Before the first refresh when recordings begin. Tables that do not fit into `room` are not
  // built. It must outlive the map.
  void open(const MemoryRoom* room) noexcept {
    room_ = room;
    files_.open();
  }
  bool is_short_of_room() const noexcept { return short_of_room_; }

  // Reads the mappings and publishes the code map to the handler. False: unreadable or no memory;
  // the map is unchanged.
  bool refresh(ProcMemory& memory) noexcept;
  // The program has registered or withdrawn CFI since the last refresh.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept {
    return registered_.is_outdated(memory, now);
  }
  // A walk reached code that no module covers: refreshes, unless that was just tried without
  // result. True: the code map has changed.
  bool refresh_for_unknown_code(ProcMemory& memory, std::chrono::nanoseconds now) noexcept;
  // A walk ended with kUnbuilt, or will need the table at this address: builds the table of that
  // part of its image and stores it in the current code map. False: not stored; another walk would
  // end there, too.
  bool build_table_at(std::uint64_t address, ProcMemory& memory) noexcept;
  // Withdraws the code map. True: all memory was freed; false: a handler uses the map, call again
  // later.
  bool try_close() noexcept;
  // Frees code maps and tables that no handler can use any more. Call periodically.
  void free_retired() noexcept;

  // Changes with every module that appears or vanishes.
  std::uint64_t change_count() const noexcept { return change_count_; }
  // Ids are assigned in ascending order.
  std::uint64_t last_id() const noexcept { return last_id_; }
  // Number of modules removed so far.
  std::uint64_t gone_count() const noexcept { return gone_count_; }
  // Slots: of current mappings, of mappings removed since the last forget_gone, and free ones.
  std::span<const Module> modules() const noexcept { return {modules_.data(), modules_.size()}; }
  // Frees the slots and paths of removed modules. Call after reporting them to every recording that
  // can take it, so that memory does not grow with the total number of mappings over time.
  void forget_gone() noexcept;
  // Memory in use per module: slots, images, paths.
  std::size_t kept_bytes() const noexcept;
  const JitInterface& jit_interface() const noexcept { return registered_.jit_interface(); }
  // Before the first refresh: no runtime is searched for.
  void forgo_runtimes() noexcept { reads_runtimes_ = false; }
  bool reads_runtimes() const noexcept { return reads_runtimes_; }
  const RuntimeRegistry& runtimes() const noexcept { return runtimes_; }
  // Call at every tick. As RuntimeRegistry::refresh.
  void refresh_runtimes(ProcMemory& memory, Moment now, bool is_outdated) noexcept {
    if (runtimes_.refresh(memory, now, is_outdated)) ++change_count_;
  }
  const Image* image_of(const Module& module) const noexcept;
  std::string_view path_of(const Module& module) const noexcept {
    return {texts_.data() + module.path_begin, module.path_size};
  }
  // nullptr before the first refresh. Its ranges are parts of modules.
  const unwind::CodeMap* code_map() const noexcept;
  std::chrono::nanoseconds cost_of_last_refresh() const noexcept { return cost_; }

 private:
  struct Snapshot;
  static constexpr std::size_t kMaxRetired = 16;

  bool parse_text(ProcMemory& memory, bool& changed) noexcept;
  bool take_mapping(const MapsLine& line, std::uint64_t header, ProcMemory& memory,
                    bool& changed) noexcept;
  std::uint32_t find_module(const MapsLine& line) const noexcept;
  bool has_room_for_table(std::uint64_t code_bytes) noexcept;
  std::uint32_t find_or_add_image(const MapsLine& line, std::uint64_t header,
                                  ProcMemory& memory) noexcept;
  void keep_tables(Image& image) noexcept;
  const Module* find_live(std::uint64_t address) const noexcept;
  void find_table(const Module& module, Image& image, unsigned part, ProcMemory& memory) noexcept;
  void build_part(const Module& module, unsigned part, ProcMemory& memory) noexcept;
  bool add_module(const Module& module) noexcept;
  bool add_image(const Image& image, std::uint32_t& index) noexcept;
  void forget_paths() noexcept;
  bool drop_vanished(bool& changed) noexcept;
  bool update_registered(ProcMemory& memory, bool& changed) noexcept;
  void find_jit_descriptors() noexcept;
  void find_runtimes(ProcMemory& memory) noexcept;
  bool is_bare(const Module& module) const noexcept;
  template <typename Take>
  void for_each_part(const Module& module, Take take) const noexcept;
  unwind::CodeRange range_of(const Module& module, unsigned part,
                             Range<std::uint64_t> code) const noexcept;
  bool publish() noexcept;
  bool set_table(std::uint64_t start, const unwind::UnwindTable* table) noexcept;
  void release_retired() noexcept;
  void destroy_dead_tables() noexcept;

  MappedArray<char> maps_text_;
  MappedArray<char> texts_;
  MappedArray<Module> modules_;
  std::size_t first_free_ = 0;  // no free slot has a lower index
  std::uint64_t change_count_ = 0;
  std::uint64_t gone_count_ = 0;
  std::uint64_t forgotten_count_ = 0;  // of the removed ones
  std::uint64_t last_id_ = 0;
  MappedArray<std::uint32_t> live_;  // indices of the live modules by address
  MappedArray<Image> images_;
  MappedArray<Range<std::uint64_t>> bare_code_;  // of the current refresh
  RegisteredCode registered_;
  RuntimeRegistry runtimes_;
  bool reads_runtimes_ = true;
  TableFiles files_;
  KeptTables kept_;
  const MemoryRoom* room_ = nullptr;
  bool short_of_room_ = false;
  Snapshot* current_ = nullptr;
  bool stale_ = true;            // current_ differs from the lists
  bool bare_code_grew_ = false;  // an image was found to have no table
  Snapshot* retired_[kMaxRetired] = {};
  std::size_t retired_count_ = 0;
  std::chrono::nanoseconds cost_{0};
  std::chrono::nanoseconds unknown_code_due_{0};  // CLOCK_MONOTONIC
  std::chrono::nanoseconds unknown_code_pause_{0};
};

// Calls take(part, range of run-time addresses) for each part of its image that the module
// overlaps, in ascending order; together the ranges cover the module.
template <typename Take>
void ModuleMap::for_each_part(const Module& module, Take take) const noexcept {
  const Image* const image = image_of(module);
  if (image == nullptr) return take(0u, Range<std::uint64_t>{module.start, module.end});
  const std::uint64_t bias = image->described.load_bias;
  const unsigned last = image->tables.index_of(module.end - 1 - bias);
  unsigned part = image->tables.index_of(module.start - bias);
  for (std::uint64_t at = module.start; at < module.end; ++part) {
    // Addresses of a malicious image may wrap around: the part is then the last one, too.
    const std::uint64_t end = part < last ? image->tables.part(part).end + bias : module.end;
    take(part, Range<std::uint64_t>{at, end});
    at = end;
  }
}

}  // namespace swipr::agent
