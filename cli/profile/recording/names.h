// Names of a recording's frames, parallel to Recording::frames. Filled by the command that
// symbolizes, read by exporters. Pure data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/runtime_frame.h"

namespace swipr::profile {

// Pseudo functions that are not code.
inline constexpr std::string_view kFunctionGone =
    "[function gone]";  // its name was not read in time
inline constexpr std::string_view kNoStack = "[no stack]";
inline constexpr std::string_view kOmittedFrames = "[frames omitted]";

// One source-level function at an address.
struct NamedFrame {
  // Demangled if requested; never empty. Without a symbol: "[libx.so+0x12a0]", the start of
  // the function. Of a language runtime: "Worker.run (app.py)", because names such as "main" are
  // frequent there.
  std::string_view function;
  // As in the symbol table; empty without a symbol. Of a language runtime: without the file.
  std::string_view system_name;
  std::string_view file;         // empty: unknown
  std::uint32_t line = 0;        // 0: unknown
  std::uint32_t start_line = 0;  // of the function; 0: unknown
  std::uint64_t offset = 0;      // bytes from the function's start (0 for inlined ones)
  bool inlined = false;          // inlined into the next one
  Language language = Language::kNative;
  Execution execution = Execution::kInterpreted;  // unless native
};

constexpr bool is_native(const NamedFrame& frame) { return frame.language == Language::kNative; }

// Innermost inlined function first, the physical function last; never empty.
using FrameNames = std::vector<NamedFrame>;

struct Names {
  std::vector<FrameNames> frames;  // same index as Recording::frames
  // Variables that locks are (in), "journal_lock", "locks+0x28"; by process and address.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> variables{};
  std::shared_ptr<const void> texts;  // owns the texts; null: owned elsewhere
};

}  // namespace swipr::profile
