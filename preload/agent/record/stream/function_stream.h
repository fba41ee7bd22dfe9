// Functions of language runtimes in the stream of a recording. Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/wire/encoder.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/record/stream/function_table.h"
#include "preload/agent/record/stream/stack_table.h"

namespace swipr::agent {

class FunctionStream {
 public:
  // Outlives the stream. Before the first stack.
  void set_functions(const FunctionTable& functions) noexcept { functions_ = &functions; }
  void release() noexcept { told_.release(); }

  // Before the stack's own definition, in the same bytes: defines those of its functions that the
  // stream lacks.
  void define(wire::Encoder& out, const StoredStack& stack) noexcept;
  // The bytes were rolled back: the functions of this stack are written again.
  void undo(const StoredStack& stack) noexcept;
  // Approximate number of bytes that `define` needs.
  std::size_t definition_bytes(const StoredStack& stack) const noexcept;

 private:
  bool is_told(std::uint32_t function) const noexcept {
    return function < told_.size() && told_[function];
  }

  const FunctionTable* functions_ = nullptr;
  MappedArray<bool> told_;  // by number
};

}  // namespace swipr::agent
