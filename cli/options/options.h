// What the command line asked for, as plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/profile/filter.h"
#include "cli/profile/recording.h"
#include "common/core/ids.h"

namespace swipr::options {

enum class Format : std::uint8_t { kRaw, kPerf, kPprof, kCollapsed, kHtml, kSpeedscope, kFirefox };
// Whether a state is shown as an innermost frame: "[epoll_wait]", "[runnable]".
enum class StateFrames : std::uint8_t { kByFormat, kOn, kOff };
using profile::Weight;

// The agent refuses intervals outside of this as well; checking here gives a better message.
inline constexpr std::chrono::nanoseconds kMinInterval = std::chrono::microseconds(100);
inline constexpr std::chrono::nanoseconds kMaxInterval = std::chrono::hours(1);

struct RecordOptions {
  // Exactly one of these three says what to record.
  std::optional<Pid> pid;
  std::string name;
  std::vector<std::string> command;

  std::uint64_t ticks = 0;               // 0: no limit
  std::chrono::nanoseconds duration{0};  // 0: no limit
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);
  profile::Mode mode = profile::Mode::kWall;
  std::uint32_t max_overhead_permille = 0;  // of one CPU; 0: the agent's default
  Format format = Format::kRaw;
  std::string output;  // "-": standard output; empty: a name is made
  std::string json;    // where the summary goes, "-": standard output; empty: nowhere
  bool follow = true;  // children and exec'd images of `command`, too
  bool jitter = true;
  bool records_arguments = true;
  bool embeds_symbols = false;  // the recording carries the names of its addresses
};

// How addresses become names.
struct SymbolOptions {
  bool demangle = true;
  bool inlines = true;
  bool short_names = false;
  std::vector<std::string> debug_directories;  // searched before the standard one
  std::string symfs;                           // root of the recorded system's files; empty: none
  bool cache = true;                           // of names, between conversions
};

// Which part of a recording is wanted; expressions are POSIX extended ones, empty: none.
struct FilterOptions {
  profile::SampleFilter samples;
  std::string only;
  std::string hide;
  std::string focus;
  bool merge_threads = false;
};

struct ConvertOptions {
  std::vector<std::string> inputs = {"-"};  // merged into one
  std::string base;                         // compared with; empty: nothing
  std::string output = "-";
  Format format = Format::kPerf;  // never kRaw
  std::optional<Weight> weight;   // none: what suits the format
  FilterOptions filters;
  bool invert = false;
  StateFrames state_frames = StateFrames::kByFormat;
  SymbolOptions symbols;
  bool file_lines = false;
  bool explain = false;  // instead of converting, say where names come from
};

struct ReportOptions {
  std::vector<std::string> inputs = {"-"};  // merged into one
  std::optional<Weight> weight;             // none: what suits the recording
  FilterOptions filters;
  std::size_t row_count = 20;
  SymbolOptions symbols;
  bool json = false;
};

struct ViewOptions {
  std::vector<std::string> inputs;  // merged into one; empty: `pid` is recorded
  std::optional<Pid> pid;
  std::chrono::nanoseconds duration = std::chrono::seconds(10);  // of the recording
  bool opens_browser = true;
  FilterOptions filters;
  SymbolOptions symbols;
};

struct ListOptions {
  bool json = false;
};

struct DoctorOptions {
  std::optional<Pid> pid;  // nullopt: the machine
};

struct PreloadPathOptions {};

struct AnswerOptions {
  Format format = Format::kPerf;
  std::string disposition;  // file name for the client; empty: none
};

using Command = std::variant<RecordOptions, ConvertOptions, ReportOptions, ViewOptions, ListOptions,
                             DoctorOptions, PreloadPathOptions, AnswerOptions>;

}  // namespace swipr::options
