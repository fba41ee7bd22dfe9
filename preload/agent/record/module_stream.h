// Which modules the stream of a recording knows. Context: control thread.
#pragma once

#include <cstdint>

#include "preload/agent/modules/module_map.h"
#include "preload/agent/record/stream_writer.h"

namespace swipr::agent {

class ModuleStream {
 public:
  void release() noexcept { told_.release(); }
  // Writes the modules of the present.
  void begin(const ModuleMap& modules, StreamWriter& stream) noexcept;
  bool is_synced(const ModuleMap& modules) const noexcept {
    return change_count_ == modules.change_count();
  }
  // Writes those that appeared. What has gone since comes first: stacks that wait to be written may
  // name it, and what is mapped now may have the same addresses. False: not all of them.
  bool write_new(const ModuleMap& modules, StreamWriter& stream) noexcept;
  // True once for modules that vanished: stacks before and after may mean different code at the
  // same address.
  bool take_gone(const ModuleMap& modules) noexcept;
  // Writes what vanished. `written`: what write_new said.
  void end_sync(bool written, const ModuleMap& modules, StreamWriter& stream) noexcept;
  // The stream lacks some: stacks would not resolve.
  bool is_behind() const noexcept { return behind_; }

 private:
  bool write_new(const ModuleMap& modules, bool gone, StreamWriter& stream) noexcept;
  bool write_gone(const ModuleMap& modules, StreamWriter& stream) noexcept;
  static bool write_gone(std::uint64_t& told, StreamWriter& stream) noexcept;

  // Of the slots of ModuleMap::modules: the id that the stream knows of each; 0: none.
  MappedArray<std::uint64_t> told_;
  std::uint64_t change_count_ = 0;  // what was written is as it was then
  std::uint64_t gone_count_ = 0;    // at the start of the present generation of stacks
  std::uint64_t last_at_start_ = 0;
  bool behind_ = false;
};

}  // namespace swipr::agent
