// rb_during_gc as compilers make it, for tests. The flag is bit 5 of byte 16 of what the machine
// has at byte 128.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swipr::runtimes {

struct CodeForm {
  std::vector<std::uint8_t> code;
  std::size_t operand_at;  // of the first load
  bool has_table;          // it loads the address of the variable from there
  // `copy` of the code loads from `address`, a multiple of 8, first.
  void point_to(std::span<std::uint8_t> copy, std::uint64_t address) const;
  // Where it would jump to if there were no machine.
  bool is_jump_distance(std::size_t at) const;
};
std::span<const CodeForm> collector_code_forms();

}  // namespace swipr::runtimes
