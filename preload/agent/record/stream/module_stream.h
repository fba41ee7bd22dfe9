// The modules in the stream of a recording. Context: control thread.
#pragma once

#include <cstdint>

#include "preload/agent/modules/module_map.h"
#include "preload/agent/record/stream/stream_writer.h"

namespace swipr::agent {

class ModuleStream {
 public:
  void release() noexcept { told_.release(); }
  // Writes the current modules.
  void begin(const ModuleMap& modules, StreamWriter& stream) noexcept;
  bool is_synced(const ModuleMap& modules) const noexcept {
    return change_count_ == modules.change_count();
  }
  // Writes new modules. Those that are already removed again come first: pending stacks may refer
  // to them, and current modules may have the same addresses. False: not all of them.
  bool write_new(const ModuleMap& modules, StreamWriter& stream) noexcept;
  // True once for removed modules: stacks before and after may refer to different code at the same
  // address.
  bool take_gone(const ModuleMap& modules) noexcept;
  // Writes the end of removed modules. `written`: the result of write_new.
  void end_sync(bool written, const ModuleMap& modules, StreamWriter& stream) noexcept;
  // Some are missing in the stream: stacks would not resolve.
  bool is_behind() const noexcept { return behind_; }

 private:
  bool write_new(const ModuleMap& modules, bool gone, StreamWriter& stream) noexcept;
  bool write_gone(const ModuleMap& modules, StreamWriter& stream) noexcept;
  bool write_runtimes(const ModuleMap& modules, StreamWriter& stream) noexcept;
  static bool write_gone(std::uint64_t& told, StreamWriter& stream) noexcept;

  // For each slot of ModuleMap::modules: the id in the stream; 0: none.
  MappedArray<std::uint64_t> told_;
  std::uint64_t change_count_ = 0;  // ModuleMap's count at the last write
  std::uint64_t gone_count_ = 0;    // at the start of the current generation of stacks
  std::uint64_t last_at_start_ = 0;
  std::uint32_t told_runtime_ = 0;  // id of the last one in the stream
  bool behind_ = false;
};

}  // namespace swipr::agent
