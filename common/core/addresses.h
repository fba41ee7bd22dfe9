// Distinct types for run-time addresses, addresses in the ELF image and file offsets, which must
// not be mixed up.
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

// How a code address relates to its instruction. A return address points after the call,
// possibly into the next line, the next inlined function, or past the end of the function.
enum class PcKind : std::uint8_t {
  kReturnAddress = 0,  // look up the byte before it
  kExact = 1,          // innermost frame, or interrupted by a signal: look up the address itself
};

// The address by which to look up a code address.
constexpr std::uint64_t lookup_address(std::uint64_t pc, PcKind kind) {
  return kind == PcKind::kExact || pc == 0 ? pc : pc - 1;
}

}  // namespace swipr
