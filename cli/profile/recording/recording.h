// The typed middle between importers and exporters: a recording as processes, modules, threads,
// distinct frames, distinct stacks and samples in time order. Pure data.
// Indexes are positions in the vectors of the same Recording and stay valid while it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/profile/recording/embedded_names.h"
#include "common/core/addresses.h"
#include "common/core/ids.h"
#include "common/core/runtime_frame.h"

namespace swipr::profile {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

enum class State : std::uint8_t { kRunning, kRunnable, kBlocked, kUnknown };

// What was recorded of each thread's time: all, what it spent on a CPU, the rest.
enum class Mode : std::uint8_t { kWall, kCpu, kOffCpu };
// "wall", "cpu", "offcpu"
std::string_view mode_name(Mode mode);

// One process image; an exec'd image is a process of its own with the same pid.
struct Process {
  std::uint32_t source = 0;  // its number in the file
  Pid pid;
  Pid parent_pid;
  std::string command_name;
  std::string executable;
  std::vector<std::string> command_line;
  std::optional<std::uint32_t> user;           // effective user id where it was recorded
  std::chrono::nanoseconds start_realtime{0};  // since the epoch
  std::chrono::nanoseconds start_monotonic{0};
  // Times of this process are that much later than CLOCK_MONOTONIC said: see append().
  std::chrono::nanoseconds moved_by{0};
  std::chrono::nanoseconds interval{0};
  std::chrono::nanoseconds duration{0};
  Mode mode = Mode::kWall;
  std::uint64_t machine = 0;  // e_machine of ELF; 0: unknown
  bool jitter = true;         // ticks at random intervals with this mean; false: on a fixed grid
  bool complete = false;      // the process ended its recording, or exec did
  std::map<std::string, std::uint64_t> totals;  // counters, names as on the wire
};

// An executable mapping of an ELF file.
struct Module {
  std::uint32_t process = 0;
  RuntimeAddr start;
  std::uint64_t size_bytes = 0;
  FileOffset file_offset;       // of `start`
  bool has_file_offset = true;  // false: unknown (SPR text); `start` − load_bias is an ImageAddr
  std::uint64_t load_bias = 0;  // run-time address − image address, modulo 2^64
  std::string build_id;         // lower-case hex; empty: none
  std::string path;             // as the process saw it
};

// A function of a language runtime of a process.
struct Function {
  std::uint32_t process = 0;
  Language language = Language::kNative;
  std::string name;              // empty: the function was gone before its name could be read
  std::string file;              // empty: unknown
  std::uint32_t start_line = 0;  // 0: unknown
  bool is_collector = false;     // no function: the runtime collects garbage
};

// A language runtime that was found in a process.
struct Runtime {
  std::uint32_t process = 0;
  Language language = Language::kNative;
  std::string version;  // empty: unknown
  std::string refusal;  // why its frames are not read, as a line; empty: they are
};

// A distinct code address of a process at a time when `module` was mapped there, or a distinct line
// of a function of a language runtime.
struct Frame {
  std::uint32_t process = 0;
  std::uint32_t module = kNone;  // kNone: outside every known mapping (JIT code, unknown)
  RuntimeAddr pc;
  PcKind kind = PcKind::kReturnAddress;
  std::uint32_t function = kNone;                 // of a language runtime; kNone: native code
  std::uint32_t line = 0;                         // in `function`; 0: unknown
  Execution execution = Execution::kInterpreted;  // of `function`
};

struct Stack {
  std::vector<std::uint32_t> frames;  // innermost first
  std::uint32_t omitted_at = kNone;   // frames were left out before this index; kNone: complete
  std::string wait_syscall{};         // system call in which the thread waits; empty: not known
  bool root_reached = false;
  std::string wait_channel{};  // kernel function in which it waits; empty: not known
  RuntimeWait runtime_wait = RuntimeWait::kNone;  // what of its language runtime it waits for
  Tid holder{};                                   // the thread that holds it; 0: not known
  std::string wait_type{};                        // of what it waits for; empty: not known
  // Address of the lock of the C library; 0: one of many; none: not known, or no such lock.
  std::optional<std::uint64_t> lock{};
};

// What the program told about a thread: keys and values, in the order of keys.
using LabelSet = std::vector<std::pair<std::string, std::string>>;

struct Thread {
  std::uint32_t process = 0;
  Tid tid;
  std::string name;  // the last one seen
};

// A function whose calls were traced.
struct TracedFunction {
  std::uint32_t process = 0;
  std::uint32_t frame = kNone;  // its first instruction, for its name; kNone: it was not found
  bool was_traced = false;
  std::string problem{};  // why it was not, or not to the end; follows "because"
  // All calls that ended, by duration (common/core/duration_buckets.h).
  std::map<std::uint32_t, std::uint64_t> buckets{};
  std::chrono::nanoseconds calls_time{0};  // sum of their durations
  std::chrono::nanoseconds longest{0};     // of them; 0: not known
  std::uint64_t unwound = 0;               // of them ended by an exception
  std::uint64_t untraced = 0;              // calls that were not measured
  std::uint64_t open = 0;                  // calls that had not returned at the end
};

// A call that at least one sample has met. Of calls that a function makes to itself the outermost.
struct Call {
  std::uint32_t function = 0;                          // in Recording::traced
  std::chrono::nanoseconds begin{0};                   // CLOCK_MONOTONIC of the recorded machine
  std::optional<std::chrono::nanoseconds> duration{};  // none: it had not returned
  bool unwound = false;                                // it ended by an exception
};

// The calls that a sample is in: a part of Recording::open_calls.
struct CallSet {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The time that one thread spent in one stack up to `time`.
struct Sample {
  std::chrono::nanoseconds time{0};  // CLOCK_MONOTONIC of the recorded machine
  std::uint32_t thread = 0;
  std::uint32_t stack = kNone;  // kNone: no stack could be taken
  State state = State::kUnknown;
  std::uint64_t ticks = 1;  // samples that this stands for
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds runqueue{0};
  std::chrono::nanoseconds wall{0};
  // Part of `cpu` and `wall` that credit_cpu() has moved here from earlier samples of the thread;
  // negative: away. Without it the samples of a thread are laid end to end.
  std::chrono::nanoseconds credited{0};
  std::uint32_t calls = kNone;   // the CallSet it is in; kNone: in no traced call
  std::uint32_t labels = kNone;  // of the thread; kNone: none
  bool has_clocks = true;        // false: `cpu` and `runqueue` are unknown, and 0

  std::chrono::nanoseconds begin() const { return time - (wall - credited); }
};

// Two unwinders found different stacks in one place (SWIPR_UNWINDER=compare).
struct Difference {
  std::uint32_t process = 0;
  std::uint32_t stack = kNone;  // by swipr's tables
  std::uint32_t other = kNone;  // by libunwind
  std::uint64_t count = 0;
};

struct Recording {
  std::vector<Process> processes;
  std::vector<Module> modules;
  std::vector<Function> functions;
  std::vector<Runtime> runtimes;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<LabelSet> label_sets;
  std::vector<Thread> threads;
  std::vector<Sample> samples;        // in order of time
  std::vector<std::string> warnings;  // one line each: what is missing and why
  EmbeddedNames embedded;
  std::vector<Difference> differences;
  std::vector<TracedFunction> traced;
  std::vector<Call> calls;
  std::vector<CallSet> call_sets;
  std::vector<std::uint32_t> open_calls;  // indexes of calls, of one CallSet after the other
};

// `calls`: of Recording::call_sets, or kNone.
std::span<const std::uint32_t> calls_of(const Recording& recording, std::uint32_t calls);
std::span<const std::uint32_t> calls_of(const Recording& recording, const Sample& sample);

enum class Weight : std::uint8_t { kSamples, kCpu, kWall, kBlocked, kRunqueue };

// A set of states, as a filter.
class StateSet {
 public:
  constexpr void add(State state) { bits_ |= bit(state); }
  constexpr bool has(State state) const { return (bits_ & bit(state)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr unsigned bit(State state) { return 1u << static_cast<unsigned>(state); }
  unsigned bits_ = 0;
};

// nullptr: the set has no label of this key.
const std::string* find_label(const LabelSet& labels, std::string_view key);

// Removes the samples of all other states; an empty set keeps everything.
void keep_states(Recording& recording, StateSet states);

// A sample says how much CPU time its thread has used since the one before, not in which stack: a
// thread that is found waiting has used it elsewhere. So what waiting samples carry is moved, with
// as much of their wall time, to the same thread's next sample that found it running: the stacks
// that a thread is found running in are to each other as the CPU time that it spends in them. What
// no such sample follows stays where it is. Sums of each thread stay the same, and so do
// the times at which samples begin and end.
void credit_cpu(Recording& recording);

// What `sample` counts for: ticks, or nanoseconds. Blocked is wall − CPU − run queue, never below
// 0.
std::uint64_t weight_of(const Sample& sample, Weight weight);

// What a report of the recording counts unless told otherwise: CPU time; where no sample ran, or
// none is left, blocked time or else the time that was waited for a CPU; samples where there are no
// times at all (text recordings of others).
Weight natural_weight(const Recording& recording);

}  // namespace swipr::profile
