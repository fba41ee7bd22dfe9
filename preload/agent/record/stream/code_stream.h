// Names of generated code that the program announces to debuggers: written when an object appears,
// and not kept in memory. Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/agent/modules/registered/jit_interface.h"
#include "preload/agent/record/stream/stream_writer.h"

namespace swipr::agent {

class CodeStream {
 public:
  void release() noexcept { told_.release(); }
  // Writes new and removed objects, at most 4,096 functions; the next calls continue.
  void sync(const JitInterface& jit, StreamWriter& stream) noexcept;

 private:
  bool write_code(const JitInterface& jit, const JitEntry& entry, std::size_t& functions_left,
                  StreamWriter& stream) noexcept;

  // For each place of JitInterface::entries: the id in the stream; 0: none.
  MappedArray<std::uint64_t> told_;
  std::uint64_t change_count_ = 0;  // JitInterface's count at the last write
  struct {
    std::uint64_t id = 0;  // 0: none
    std::size_t functions = 0;
  } partly_told_;  // the entry that is partly written
};

}  // namespace swipr::agent
