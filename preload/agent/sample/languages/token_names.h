// Functions and lines of the tokens of stacks. Names are read from the runtime's memory when a
// token is seen for the first time, and again when a second has passed: a function that was freed
// can be replaced by another at its address with the same fingerprint. Methods of Java also when
// classes have been unloaded: one that is generated again and again has the same layout each time,
// and often the same address. Context: control thread.  Allocates: never. 400 KiB of zeroed memory,
// touched as it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "preload/agent/base/moment.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/record/stream/function_table.h"
#include "preload/handler/runtime_slots.h"
#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/runtimes/v8/v8_lines.h"

namespace swipr::agent {

class TokenNames {
 public:
  // The pc of the frame in stacks. A function whose name cannot be read any more is marked as lost.
  // `functions`: always the same table.
  // Not of compiled code: java_stacks.h.
  std::uint64_t pc_of(const runtimes::Token& token, const handler::RuntimeSnapshot& snapshot,
                      ProcMemory& memory, FunctionTable& functions, Moment now) noexcept;
  // How many classes the virtual machine has unloaded; before the methods of a stack.
  void set_unloaded_classes(std::uint64_t count) noexcept { unloaded_classes_ = count; }

 private:
  struct KnownFunction {
    std::uint64_t code;  // 0: free
    std::uint64_t proof;
    Moment read_at;
    std::uint32_t function;  // of the table
  };
  struct KnownLine {
    std::uint64_t code;  // 0: free
    std::uint64_t proof;
    Moment read_at;
    std::uint32_t position;
    std::uint32_t line;
  };
  static constexpr std::size_t kPlaces = 4096;  // of each cache; a collision replaces

  std::uint32_t function_of(const runtimes::Token& token, const handler::RuntimeSnapshot& snapshot,
                            runtimes::ObjectPieces& reader, FunctionTable& functions,
                            Moment now) noexcept;
  std::uint32_t line_of(const runtimes::Token& token, const handler::RuntimeSnapshot& snapshot,
                        runtimes::ObjectPieces& reader, Moment now) noexcept;

  // What a known function or line was read for, beside the address.
  std::uint64_t proof_of(const runtimes::Token& token) const noexcept;
  bool read_function(const runtimes::Token& token, const handler::RuntimeSnapshot& snapshot,
                     runtimes::ObjectPieces& reader) noexcept;
  bool read_line(const runtimes::Token& token, const handler::RuntimeSnapshot& snapshot,
                 runtimes::ObjectPieces& reader, std::uint32_t& out) noexcept;

  std::uint64_t unloaded_classes_;
  runtimes::FunctionText text_;  // scratch
  runtimes::V8LineCache lines_;
  std::array<KnownFunction, kPlaces> known_functions_;
  std::array<KnownLine, kPlaces> known_lines_;
};

}  // namespace swipr::agent
