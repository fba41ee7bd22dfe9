// The parsed command line, as plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/profile/filter.h"
#include "cli/profile/recording/recording.h"
#include "common/core/ids.h"

namespace swipr::options {

enum class Format : std::uint8_t {
  kRaw,
  kPerf,
  kPprof,
  kCollapsed,
  kCol,
  kHtml,
  kSpeedscope,
  kFirefox
};
// Whether the state is added as the innermost frame: "[epoll_wait]", "[runnable]".
enum class StateFrames : std::uint8_t { kByFormat, kOn, kOff };
// Which labels the samples of a pprof file have.
enum class PprofLabels : std::uint8_t { kAll, kOwn, kThread, kNone };
using profile::Weight;

// The agent has the same limits; checking them here gives a better message.
inline constexpr std::chrono::nanoseconds kMinInterval = std::chrono::microseconds(100);
inline constexpr std::chrono::nanoseconds kMaxInterval = std::chrono::hours(1);

struct RecordOptions {
  // Exactly one of these four is set.
  std::optional<Pid> pid;
  std::string name;
  std::string socket;  // path of the socket of a process
  std::vector<std::string> command;

  std::uint64_t ticks = 0;               // 0: no limit
  std::chrono::nanoseconds duration{0};  // 0: no limit
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);
  profile::Mode mode = profile::Mode::kWall;
  std::uint32_t max_overhead_permille = 0;  // of one CPU; 0: the agent's default
  Format format = Format::kRaw;
  std::string output;  // "-": standard output; empty: a generated name
  std::string json;    // file for the summary, "-": standard output; empty: none
  bool follow = true;  // also children and exec'd images of `command`
  bool jitter = true;
  bool records_arguments = true;
  bool embeds_symbols = false;  // store names in the recording
  bool records_tasks = false;   // of asyncio
  bool is_quiet = false;        // print no summary
};

// Symbolization.
struct SymbolOptions {
  bool demangle = true;
  bool inlines = true;
  bool short_names = false;
  std::vector<std::string> debug_directories;  // searched before the standard one
  std::string symfs;                           // root of the recorded system's files; empty: none
  bool cache = true;                           // of names, between conversions
};

enum class SplitPart : std::uint8_t { kSlow, kNormal, kDifference };
// Samples inside calls of a traced function, by the duration of the call.
struct SplitOption {
  std::string text;            // as typed
  std::string function;        // empty: the only one
  std::uint64_t quantile = 0;  // of kQuantileUnits; 0: by the threshold
  std::chrono::nanoseconds threshold{0};
  SplitPart part = SplitPart::kSlow;
};

// Filters. Expressions are POSIX extended ones; empty: none.
struct FilterOptions {
  profile::SampleFilter samples;
  profile::FrameKinds frames = profile::FrameKinds::kMixed;
  std::string only;
  std::string hide;
  std::string focus;
  bool merge_threads = false;
  std::vector<SplitOption> splits;  // one after the other
};

struct ConvertOptions {
  std::vector<std::string> inputs = {"-"};  // merged into one
  std::string base;                         // recording to compare with; empty: none
  std::string output = "-";
  Format format = Format::kPerf;  // never kRaw
  std::optional<Weight> weight;   // none: default of the format
  FilterOptions filters;
  bool invert = false;
  StateFrames state_frames = StateFrames::kByFormat;
  bool frame_kinds = false;  // collapsed: a suffix such as "_[p]" tells the language of a frame
  PprofLabels pprof_labels = PprofLabels::kAll;
  SymbolOptions symbols;
  bool file_lines = false;
  bool explain = false;  // print sources of names instead of converting
};

struct ReportOptions {
  std::vector<std::string> inputs = {"-"};  // merged into one
  std::optional<Weight> weight;             // none: default of the recording
  FilterOptions filters;
  std::size_t row_count = 20;
  SymbolOptions symbols;
  bool json = false;
};

struct ViewOptions {
  std::vector<std::string> inputs;  // merged into one; empty: `pid` is recorded
  std::optional<Pid> pid;
  std::chrono::nanoseconds duration = std::chrono::seconds(10);  // of the recording
  bool is_live = false;              // the process is followed; nothing is recorded to a file
  std::string name;                  // of the process that is followed, if there is no pid
  std::vector<std::string> command;  // that is started and followed
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);  // of what is followed
  std::vector<std::string> latency;  // functions whose calls are traced meanwhile
  bool opens_browser = true;
  FilterOptions filters;
  SymbolOptions symbols;
};

struct TopOptions {
  std::optional<Pid> pid;
  std::string name;  // of the process, if there is no pid
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);
  std::chrono::nanoseconds window = std::chrono::seconds(10);
  Weight weight = Weight::kCpu;
  bool once = false;
  SymbolOptions symbols;
};

// Functions of a process that are traced.
struct TraceOptions {
  std::optional<Pid> pid;
  std::string name;                         // of the process, if there is no pid
  std::vector<std::string> functions;       // as a person names them
  std::string site;                         // FILE:LINE of calls that count; empty: all
  std::chrono::nanoseconds duration{0};     // 0: no limit
  std::uint32_t max_overhead_permille = 0;  // of one CPU; 0: the agent's default
  std::vector<std::string> debug_directories;
};

struct LatencyOptions {
  TraceOptions trace;
  std::chrono::nanoseconds interval{0};  // of the running table; 0: none
  std::uint64_t count = 0;               // intervals; 0: no limit
  bool threads = false;
  bool json = false;
};

struct SlowerOptions {
  TraceOptions trace;
  std::string threshold;                   // "5 ms", "p95"
  std::uint64_t count = 0;                 // slow calls; 0: no limit
  std::optional<std::uint64_t> arguments;  // that are shown; none: all that are known
  bool stack = false;                      // all callers
  bool json = false;
};

struct TraceRecordOptions {
  TraceOptions trace;
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);
  std::string output;           // empty: a generated name
  bool embeds_symbols = false;  // store names in the recording
};

struct PushOptions {
  std::vector<std::string> inputs;  // recordings, pprof files, .col files
  std::string url;
  std::string service;              // empty: the name of the recorded program
  std::vector<std::string> labels;  // NAME=VALUE
  // Keys of labels of threads (swipr.h) that become labels of samples; empty: none.
  std::vector<std::string> thread_labels;
  std::string token_file, ca_file, tenant;
  SymbolOptions symbols;
};

struct AgentOptions {
  std::chrono::nanoseconds interval = std::chrono::nanoseconds(90'909'091);  // 11 per second
  std::chrono::nanoseconds slice = std::chrono::seconds(60);
  std::uint64_t slices = 0;  // 0: no end
  profile::Mode mode = profile::Mode::kCpu;
  std::uint32_t max_overhead_permille = 0;        // of one CPU, for each process; 0: its default
  std::uint32_t max_host_overhead_permille = 10;  // of all CPUs, for all processes
  // Which processes; empty: all. Patterns of the shell.
  std::vector<Pid> pids;
  std::vector<std::string> only, exclude;
  std::string socket_folder;
  std::size_t max_processes = 500;

  std::string output_folder;  // empty: no files
  std::size_t keep = 0;       // slices whose files are kept; 0: all
  bool flamegraph = true;
  bool module_names = false;      // after functions in .col files
  std::string external_metadata;  // file; empty: none
  struct Push {
    std::vector<std::string> urls;
    std::string service;                     // empty: by process
    std::vector<std::string> labels;         // NAME=VALUE
    std::vector<std::string> thread_labels;  // keys, as in PushOptions
    std::string token_file, ca_file, tenant;
  } push;
  std::string spool_folder;  // empty: of this user
  std::uint64_t spool_bytes = std::uint64_t{64} << 20;
  bool identifies_applications = true;
  std::vector<std::string> argument_filters;  // options of Java that belong to its name

  std::string pid_file, log_file, metrics_file;  // empty: none
  std::optional<Pid> controller;                 // the agent ends with it
  SymbolOptions symbols;
};

struct ListOptions {
  bool json = false;
};

struct DoctorOptions {
  std::optional<Pid> pid;  // nullopt: the machine
  bool compares_unwinders = false;
  std::vector<std::string> command;  // to compare them on
};

struct PreloadPathOptions {};

struct InstallPreloadOptions {
  std::string service;  // with ".service"; empty: all programs of the user
  bool of_user = false;
  bool removes = false;
  std::string root;  // before all paths, without a slash at its end; empty: this system
};

struct AnswerOptions {
  Format format = Format::kPerf;
  std::string disposition;  // file name for the client; empty: none
};

using Command = std::variant<RecordOptions, ConvertOptions, ReportOptions, TopOptions,
                             LatencyOptions, SlowerOptions, TraceRecordOptions, ViewOptions,
                             AgentOptions, PushOptions, ListOptions, DoctorOptions,
                             PreloadPathOptions, InstallPreloadOptions, AnswerOptions>;

}  // namespace swipr::options
