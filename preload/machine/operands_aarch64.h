// Registers that aarch64 instructions read, and how code that depends on its address is encoded.
// Source: Arm ARM, C4.1 (encodings by class).
// Context: control thread.
#pragma once

#include <cstdint>

namespace swipr::machine {

// A bit for each general register that the instruction may read; bit 31: sp, or none. Vector
// instructions that read general registers are not known, but for loads and stores.
std::uint32_t registers_read(std::uint32_t word) noexcept;

// A load or store of registers, general or not; and a store of general ones.
constexpr bool is_memory_access(std::uint32_t word) noexcept {
  return (word & 0x0a000000) == 0x08000000;
}
constexpr unsigned base_register(std::uint32_t word) noexcept { return word >> 5 & 31; }

constexpr bool is_direct_call(std::uint32_t word) noexcept {  // bl
  return (word & 0xfc000000) == 0x94000000;
}
constexpr std::int64_t call_distance(std::uint32_t word) noexcept {
  return std::int64_t{static_cast<std::int32_t>(word << 6) >> 6} * 4;
}

}  // namespace swipr::machine
