// Addresses as types: a run-time address, an address as the ELF image numbers it, and an offset in
// the file are three different things, and mixing them up is the profiler's classic mistake.
// Context: anywhere, signal handlers included.
#pragma once

#include <compare>
#include <cstdint>

namespace swipr {

// An address in the recorded process.
struct RuntimeAddr {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(RuntimeAddr, RuntimeAddr) = default;
};

// A virtual address as the ELF file's program headers and symbols number it (run-time address minus
// load bias).
struct ImageAddr {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(ImageAddr, ImageAddr) = default;
};

// A byte position in the module's file.
struct FileOffset {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(FileOffset, FileOffset) = default;
};

// How a code address relates to the instruction it stands for. A return address points behind the
// call, possibly into the next line, the next inlined function, or past the end of the function.
enum class PcKind : std::uint8_t {
  kReturnAddress = 0,  // look up the byte before it
  kExact = 1,          // innermost frame, or a frame interrupted by a signal: look it up as it is
};

// The one place for the minus-one: the address to look a code address up by.
constexpr std::uint64_t lookup_address(std::uint64_t pc, PcKind kind) {
  return kind == PcKind::kExact || pc == 0 ? pc : pc - 1;
}

}  // namespace swipr
