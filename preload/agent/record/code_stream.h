// Names of generated code, as the program tells them to debuggers: written when an object appears,
// and kept nowhere. Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/agent/modules/jit_interface.h"
#include "preload/agent/record/stream_writer.h"

namespace swipr::agent {

class CodeStream {
 public:
  void release() noexcept { told_.release(); }
  // Writes what appeared and what has gone, 4,096 functions at most; the next calls go on.
  void sync(const JitInterface& jit, StreamWriter& stream) noexcept;

 private:
  bool write_code(const JitInterface& jit, const JitEntry& entry, std::size_t& functions_left,
                  StreamWriter& stream) noexcept;

  // Of the places of JitInterface::entries: the id that the stream knows of each; 0: none.
  MappedArray<std::uint64_t> told_;
  std::uint64_t change_count_ = 0;  // what was written is as it was then
  struct {
    std::uint64_t id = 0;  // 0: none
    std::size_t functions = 0;
  } partly_told_;  // the entry of which the stream has some functions
};

}  // namespace swipr::agent
