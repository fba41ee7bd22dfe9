// Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::machine {

// Instructions that were written are fetched from now on: data caches are cleaned, instruction
// caches invalidated, up to where they meet. Other processors execute them once they have executed
// a context synchronization event (membarrier). Source: Arm ARM, B2.7.4 (instruction caches and
// coherency), D19.2.36 (CTR_EL0: sizes of lines; bits 28 and 29, IDC and DIC: not necessary).
inline void synchronise_code(const void* begin, std::size_t bytes) noexcept {
  std::uint64_t type = 0;
  asm("mrs %0, ctr_el0" : "=r"(type));
  const auto first = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t end = first + bytes;
  const std::uint64_t data_line = std::uint64_t{4} << (type >> 16 & 15);
  const std::uint64_t code_line = std::uint64_t{4} << (type & 15);
  if ((type >> 28 & 1) == 0) {
    for (std::uint64_t at = first & -data_line; at < end; at += data_line) {
      asm volatile("dc cvau, %0" : : "r"(at) : "memory");
    }
  }
  asm volatile("dsb ish" : : : "memory");
  if ((type >> 29 & 1) == 0) {
    for (std::uint64_t at = first & -code_line; at < end; at += code_line) {
      asm volatile("ic ivau, %0" : : "r"(at) : "memory");
    }
  }
  asm volatile("dsb ish\n\tisb" : : : "memory");
}

}  // namespace swipr::machine
