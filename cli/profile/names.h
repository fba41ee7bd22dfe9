// Names of a recording's frames, parallel to Recording::frames. Filled by the command that
// symbolizes, read by exporters. Pure data.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace swipr::profile {

// Pseudo functions that are not code.
inline constexpr std::string_view kNoStack = "[no stack]";
inline constexpr std::string_view kOmittedFrames = "[frames omitted]";

// One source-level function at an address.
struct NamedFrame {
  // Demangled if requested; never empty. Without a symbol: "[libx.so+0x12a0]", the start of
  // the function.
  std::string_view function;
  std::string_view system_name;  // as in the symbol table; empty without a symbol
  std::string_view file;         // empty: unknown
  std::uint32_t line = 0;        // 0: unknown
  std::uint32_t start_line = 0;  // of the function; 0: unknown
  std::uint64_t offset = 0;      // bytes from the function's start (0 for inlined ones)
  bool inlined = false;          // inlined into the next one
};

// Innermost inlined function first, the physical function last; never empty.
using FrameNames = std::vector<NamedFrame>;

struct Names {
  std::vector<FrameNames> frames;     // same index as Recording::frames
  std::shared_ptr<const void> texts;  // owns the texts; null: owned elsewhere
};

}  // namespace swipr::profile
