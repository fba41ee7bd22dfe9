// The records of language runtimes (Python, …): FUNCTION, to which the frames of
// common/core/runtime_frame.h refer, and RUNTIME. Context: anywhere, signal handlers included.
// Allocates: never.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/core/runtime_frame.h"
#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace swipr::wire {

enum FunctionFlags : std::uint64_t {
  kFunctionNameLost = 1,   // the function was gone before its name could be read; `name` is empty
  kFunctionCollector = 2,  // no function: the runtime collects garbage; `name` says so
};

struct FunctionRecord {
  std::uint64_t function = 0;  // from 1; never used again in the source
  Language language = Language::kNative;
  std::string_view name{};       // qualified as the language does
  std::string_view file{};       // empty: unknown
  std::uint64_t start_line = 0;  // 0: unknown
  std::uint64_t flags = 0;       // FunctionFlags
};

enum class RuntimeState : std::uint8_t { kRead = 0, kRefused = 1 };

struct RuntimeRecord {
  Language language = Language::kNative;
  std::string_view version{};  // "3.11.2"; empty: unknown
  RuntimeState state = RuntimeState::kRead;
  std::string_view reason{};    // why it was refused
  std::uint64_t module_id = 0;  // of the MODULE record; 0: none
};

void encode(Encoder& out, const FunctionRecord& record) noexcept;
void encode(Encoder& out, const RuntimeRecord& record) noexcept;
// Lifetime: strings point into the payload. nullopt: damaged.
std::optional<FunctionRecord> decode_function(std::span<const std::byte> payload) noexcept;
std::optional<RuntimeRecord> decode_runtime(std::span<const std::byte> payload) noexcept;

}  // namespace swipr::wire
