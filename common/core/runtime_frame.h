// Frames of language runtimes (Python, …) among the frames of a stack.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swipr {

// Values larger than the last are languages of a later version.
enum class Language : std::uint8_t {
  kNative = 0,  // never in a record
  kPython = 1,
  kJava = 2,
  kJavaScript = 3,
  kRuby = 4,
  kPhp = 5,
  kDotNet = 6,  // of this one and the next no frames are read
  kErlang = 7,
  kPerl = 8,
  kR = 9,
  kLua = 10,
};
inline constexpr std::array<std::string_view, 11> kLanguageNames = {
    "native", "python", "java", "javascript", "ruby", "php", ".net", "erlang", "perl", "r", "lua"};
constexpr std::string_view language_name(Language language) noexcept {
  const auto index = static_cast<std::size_t>(language);
  return index < kLanguageNames.size() ? kLanguageNames[index] : "unknown language";
}

// How a function of a runtime was executed. Stands where native frames have their FrameSource.
enum class Execution : std::uint8_t { kInterpreted = 0, kCompiled = 1, kInlined = 2, kBuiltIn = 3 };

// Stands for a function in the frame of a runtime that collects garbage.
inline constexpr std::string_view kCollectorName = "[garbage collection]";

// Stands for the functions of a virtual thread that are not on its stack while it runs: it has not
// returned to them since it was parked.
inline constexpr std::string_view kParkedFramesName = "[parked frames]";

// What of its runtime a thread waits for.
enum class RuntimeWait : std::uint8_t {
  kNone = 0,
  kGil = 1,        // the lock of an interpreter
  kMonitor = 2,    // a lock of the language
  kCondition = 3,  // to be notified
  kPark = 4,       // to be unparked
  kAwait = 5,      // no thread, but a task: to be continued by its event loop
  kMutex = 6,      // a lock of the C library, if its stack shows one
  kRwlock = 7,     // the same: the writer of a read-write lock
};

constexpr bool is_library_lock(RuntimeWait wait) {
  return wait == RuntimeWait::kMutex || wait == RuntimeWait::kRwlock;
}

// In stacks, a frame of a runtime has a pc in a range that no processor uses: these addresses are
// neither canonical on x86-64 (Intel SDM volume 1, 3.3.7.1) nor virtual addresses of AArch64. The
// pc is exact.
struct RuntimeFrame {
  std::uint64_t function = 0;  // of a FUNCTION record, from 1
  std::uint32_t line = 0;      // 0: unknown
};
inline constexpr std::uint64_t kRuntimeFrameBase = std::uint64_t{1} << 60;
inline constexpr unsigned kRuntimeLineBits = 20;
inline constexpr std::uint32_t kMaxRuntimeLine = (1u << kRuntimeLineBits) - 1;
inline constexpr std::uint64_t kMaxRuntimeFunction = (std::uint64_t{1} << 39) - 1;

constexpr bool is_runtime_frame(std::uint64_t pc) noexcept { return pc >> 60 == 1; }
// Larger lines become 0.
constexpr std::uint64_t runtime_frame_pc(RuntimeFrame frame) noexcept {
  const std::uint32_t line = frame.line <= kMaxRuntimeLine ? frame.line : 0;
  return kRuntimeFrameBase + (frame.function << kRuntimeLineBits) + line;
}
constexpr RuntimeFrame runtime_frame_of(std::uint64_t pc) noexcept {
  const std::uint64_t value = pc - kRuntimeFrameBase;
  return {value >> kRuntimeLineBits, static_cast<std::uint32_t>(value & kMaxRuntimeLine)};
}

}  // namespace swipr
