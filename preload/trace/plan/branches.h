// Branches into the beginning of a function: none may be left that leads into the patch, or to the
// instructions that the stub takes back.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>
#include <span>

#include "preload/trace/plan/plan.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::trace {

// In the function's own code, decoded from its begin. A jump to the first instruction counts, too:
// what a loop keeps below the stack pointer or in registers is not what a caller passes.
Refusal check_own_branches(const Function& function, const Plan& plan) noexcept;

// Tables that an indirect jump of the function may use: what its code takes the address of.
// Entries are distances of four bytes from the table's begin, or addresses. `text`: run-time
// addresses of the module's code. Bounds: kMostTables tables, each kMostEntries entries.
Refusal check_jump_tables(const Function& function, const Plan& plan, Range<std::uint64_t> text,
                          unwind::ImageReader reader) noexcept;

// In a function beside this one, which short branches can reach.
Refusal check_neighbour(const Function& neighbour, const Plan& plan) noexcept;

// In a piece of the module's code at `address`: every four bytes that follow the opcode of a near
// jump or call and would lead into the patch. Some 1 ns per byte, and one in 10⁹ by chance.
Refusal check_far_branches(std::span<const std::uint8_t> text, std::uint64_t address,
                           const Plan& plan) noexcept;

// How a piece of the module's code at `address` reaches the function's begin, by instructions with
// distances of four bytes: a part that the compiler has moved out of a function is jumped to, never
// called, and may be reached with data below the stack pointer.
struct Entries {
  bool are_calls = false;
  bool are_jumps = false;
};
void find_entries(std::span<const std::uint8_t> text, std::uint64_t address, std::uint64_t function,
                  Entries& found) noexcept;

}  // namespace swipr::trace
