// Functions of language runtimes in the stream of a recording. Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/encoder.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/record/stream/block_writer.h"
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
  // Empty for 0. Lifetime: until the next function is added.
  std::string_view name(std::uint32_t function) const noexcept;
  // `written` false: the bytes were rolled back, and what `define` put there is written again.
  void settle(const StoredStack& stack, bool written) noexcept;
  // Defines them in records of their own, so that only the stack's own definition is left. False:
  // no room for all; the next call goes on.
  bool define_ahead(BlockWriter& blocks, const StoredStack& stack) noexcept;
  // Approximate number of bytes that `define` and the name of what the stack waits for need.
  std::size_t definition_bytes(const StoredStack& stack) const noexcept;

 private:
  enum class Told : std::uint8_t { kNo, kDefining, kYes };

  bool is_told(std::uint32_t function) const noexcept {
    return function < told_.size() && told_[function] != Told::kNo;
  }
  void set_told(std::uint32_t function, Told told) noexcept;
  void encode(wire::Encoder& out, std::uint32_t function) const noexcept;

  const FunctionTable* functions_ = nullptr;
  MappedArray<Told> told_;  // by number
};

}  // namespace swipr::agent
