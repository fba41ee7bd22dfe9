// The raw format .swipr, version 1: constants and record contents. docs/RAW_FORMAT.md describes the
// same bytes in prose; the two change together.
//
// A file is a FileHeader and then blocks. A block is a BlockHeader and whole records. A record is
// one type byte, its payload's length as a varint, and the payload. Blocks carry the index of the
// source (one process image) they come from, so that several processes interleave in one file by
// copying blocks, and a checksum, so that damage is noticed and stays inside one block.
//
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/core/runtime_frame.h"

namespace swipr::wire {

inline constexpr std::array<unsigned char, 8> kFileMagic = {0x89, 'S', 'W',  'I',
                                                            'P',  'R', '\r', '\n'};
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kFileHeaderBytes = 16;  // magic, u16 version, u16 zero, u32 zero
inline constexpr std::array<unsigned char, 4> kBlockMagic = {'S', 'W', 'B', 'K'};
inline constexpr std::size_t kBlockHeaderBytes =
    16;  // magic, u32 source, u32 payload bytes, u32 CRC
inline constexpr std::size_t kMaxBlockPayloadBytes = std::size_t{1} << 20;
inline constexpr std::uint32_t kMaxFrames = 2048;      // per stack
inline constexpr std::size_t kMaxStringBytes = 32768;  // per string; writers cut longer ones

enum class RecordType : std::uint8_t {
  kSource = 1,        // the first record of a source
  kModule = 2,        // an executable mapping appeared
  kModuleGone = 3,    // … and disappeared
  kThread = 4,        // a thread appeared or was renamed
  kStack = 5,         // defines (or redefines) a stack id
  kTick = 6,          // the samples of one tick
  kTotals = 7,        // counters so far; the last record is valid
  kEnd = 8,           // the last record of a source that was not truncated
  kMessage = 9,       // a message for readers of the profile
  kNames = 10,        // written by `swipr record`: functions at addresses of one file
  kCode = 11,         // a range of generated code
  kCodeGone = 12,     // … and all ranges of its object were removed
  kUser = 13,         // the user of the process
  kDifference = 14,   // two unwinders found different stacks in one place
  kFunction = 15,     // a function of a language runtime, before the first stack with it
  kRuntime = 16,      // a language runtime was found in the process
  kProbe = 17,        // a function is traced, is refused, or is not traced any more
  kLatency = 18,      // durations of calls of a traced function
  kSlowCall = 21,     // a call of it that took long, with its caller
  kProbeCounts = 22,  // how many did, and more about its calls
  kCallThread = 23,   // the name of a thread that makes such calls
  kStackCalls = 24,   // a stack within calls of traced functions
  kCallEnd = 25,      // a call that a sample has met has ended
  kLabels = 40,       // a set of labels of a thread
  kStackLabels = 41,  // … which a thread had in a stack, behind that stack
};

enum class ThreadState : std::uint8_t { kRunning = 0, kRunnable = 1, kBlocked = 2, kUnknown = 3 };

// How the walk found a frame's pc.
enum class FrameSource : std::uint8_t { kContext = 0, kCfi = 1, kFramePointer = 2, kGuess = 3 };

enum class EndReason : std::uint8_t {
  kComplete = 0,        // count or duration reached
  kStopped = 1,         // the client asked for the end
  kProcessExit = 2,     // the process exits
  kConnectionLost = 3,  // written by `swipr record`: the process vanished or exec'd
  kFailed = 4,          // the agent gave up; text is the reason
};

// Which time of each thread a recording contains.
enum class RecordMode : std::uint8_t {
  kWall = 0,    // all of it
  kCpu = 1,     // what it spent on a CPU: an entry's wall_ns is its cpu_ns
  kOffCpu = 2,  // its time off the CPU: cpu_ns is 0
};
inline constexpr std::array<std::string_view, 3> kRecordModeNames = {"wall", "cpu", "offcpu"};
// Returns false if there is no such mode.
constexpr bool find_record_mode(std::string_view name, RecordMode& out) noexcept {
  for (std::size_t mode = 0; mode < kRecordModeNames.size(); ++mode) {
    if (kRecordModeNames[mode] != name) continue;
    out = static_cast<RecordMode>(mode);
    return true;
  }
  return false;
}

enum class MessageLevel : std::uint8_t { kNote = 0, kWarning = 1, kError = 2 };

// All times in nanoseconds. Strings point into the payload they were decoded from.
struct SourceRecord {
  std::uint64_t pid = 0;
  std::uint64_t parent_pid = 0;
  std::uint64_t start_realtime_ns = 0;  // CLOCK_REALTIME at the start of the recording
  std::uint64_t start_monotonic_ns =
      0;  // CLOCK_MONOTONIC at the same moment; times count from here
  std::uint64_t interval_ns = 0;
  std::uint64_t ticks_asked = 0;  // 0: until stopped
  std::uint64_t machine = 0;      // e_machine of ELF: 62 = x86-64, 183 = AArch64
  std::string_view agent_version;
  std::string_view command_name;  // /proc/PID/comm
  std::string_view executable;    // path as the process sees it
  std::string_view command_line;  // arguments, NUL-separated
  RecordMode mode = RecordMode::kWall;
  bool jitter = false;  // ticks at random intervals, of interval_ns in the mean; else on a grid
};

struct ModuleRecord {
  std::uint64_t module_id = 0;  // unique within the source, never reused
  std::uint64_t start = 0;      // run-time address of the executable mapping
  std::uint64_t size_bytes = 0;
  std::uint64_t file_offset = 0;        // of `start`
  std::uint64_t load_bias = 0;          // run-time address minus image address, modulo 2^64
  std::span<const std::byte> build_id;  // empty: none
  std::string_view path;  // "[vdso]" for the vDSO; " (deleted)" kept as the kernel says it
};

struct ModuleGoneRecord {
  std::uint64_t module_id = 0;
};

struct ThreadRecord {
  std::uint64_t thread_index = 0;  // small number, unique within the source
  std::uint64_t tid = 0;
  std::uint64_t start_ns =
      0;  // since start_monotonic_ns; the thread's first Δwall counts from here
  std::string_view name;
};

// Frames, innermost first. Addresses refer to the modules known at this point of the stream.
struct FrameEntry {
  std::uint64_t pc = 0;
  FrameSource source = FrameSource::kContext;
  bool exact = false;  // pc is the instruction itself, not a return address
};

enum StackFlags : std::uint64_t {
  kStackRootReached = 1,  // the walk ended at the thread's outermost frame
  kStackCut = 2,          // too deep: `omitted_at` frames from the inside follow, then a gap
  kStackBroken = 4,       // the walk stopped at something unreadable or implausible
  kStackByLibunwind = 8,  // libunwind walked it, not swipr's tables
};

struct StackRecord {
  std::uint64_t stack_id = 0;  // from 1; a later record with the same id replaces the stack
  std::uint64_t flags = 0;     // StackFlags
  std::uint64_t wait_syscall =
      0;                         // system call number + 1 in which the thread waits; 0: none known
  std::uint64_t omitted_at = 0;  // with kStackCut: index of the first frame after the gap
  std::uint64_t frame_count = 0;
  std::string_view wait_channel{};  // kernel function in which it waits; empty: none known
  // Of its language runtime.
  RuntimeWait runtime_wait = RuntimeWait::kNone;
  std::uint64_t holder_tid = 0;    // the thread that holds what it waits for; 0: unknown
  std::string_view wait_object{};  // type of what it waits for; empty: unknown
  // Address of the lock of the C library; 0: one of many; none: unknown, or no such lock.
  std::optional<std::uint64_t> lock{};
};

// One entry of a tick: the thread spent Δwall since its previous entry (or its start) in this
// stack.
struct SampleEntry {
  std::uint64_t thread_index = 0;
  ThreadState state = ThreadState::kUnknown;
  std::uint64_t stack_id = 0;  // 0: no stack could be taken
  std::uint64_t cpu_ns = 0;
  std::uint64_t runqueue_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t ticks = 1;  // ticks that this entry stands for
};

// Bits of a sample entry's head; the rest of the head is the thread index's distance to that of the
// previous entry in the tick (0 allowed: a thread can have several).
enum SampleFlags : std::uint64_t {
  kSampleStateMask = 3,
  kSampleSameStack = 4,  // as the thread's previous entry; otherwise a stack id follows
  kSampleHasCpu = 8,
  kSampleHasRunqueue = 16,  // 0 in the stream: all that `cpu` leaves of `wall`
  kSampleHasWall = 32,      // otherwise: from the thread's previous entry to this tick's time
  kSampleHasTicks = 64,     // otherwise 1
};
inline constexpr unsigned kSampleHeadShift = 7;
// Of a decoded entry, once its wall time is known.
constexpr std::uint64_t runqueue_ns_of(const SampleEntry& entry, std::uint64_t flags,
                                       std::uint64_t wall_ns) noexcept {
  const bool rest = (flags & kSampleHasRunqueue) != 0 && entry.runqueue_ns == 0;
  if (!rest) return entry.runqueue_ns;
  return wall_ns > entry.cpu_ns ? wall_ns - entry.cpu_ns : 0;
}

struct EndRecord {
  EndReason reason = EndReason::kComplete;
  std::uint64_t duration_ns = 0;
  std::string_view text;
};

struct MessageRecord {
  MessageLevel level = MessageLevel::kNote;
  std::string_view text;
};

// A function at an address. Texts are numbers, from 1, of those that the record begins with; 0:
// none.
struct FunctionEntry {
  std::uint64_t name = 0;  // demangled
  std::uint64_t linkage_name = 0;
  std::uint64_t file = 0;
  std::uint64_t line = 0;
  std::uint64_t start_line = 0;
  std::uint64_t offset = 0;  // bytes from the function's start
  bool inlined = false;      // into the next one
};

struct CodeRecord {
  std::uint64_t start = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t valid_from_ns = 0;  // CLOCK_MONOTONIC; 0: always
  std::string_view name;
  // What the compiler made in one piece and takes back in one piece; never used again in the
  // source. 0: nothing of the kind, written by `swipr record`.
  std::uint64_t object = 0;
};

struct CodeGoneRecord {
  std::uint64_t object = 0;
  std::uint64_t valid_until_ns = 0;  // CLOCK_MONOTONIC
};

// Of one and the same place in a thread. The last record with the same two ids applies.
struct DifferenceRecord {
  std::uint64_t stack_id = 0;  // by swipr's tables
  std::uint64_t other_id = 0;  // by libunwind
  std::uint64_t count = 0;     // so many stacks of the source were like that so far
};
// Ids of stacks that only such records use. No recording keeps as many of its own.
inline constexpr std::uint64_t kFirstDifferenceId = std::uint64_t{1} << 32;

struct UserRecord {
  std::uint64_t user = 0;  // effective user id, as seen where the recording is read
};

// From `offset` bytes behind the code's start on.
struct CodeLine {
  std::uint64_t offset = 0;
  std::uint64_t line = 0;
  std::string_view file;
};

// Counter names in kTotals. Readers show unknown names unchanged.
namespace counter {
inline constexpr std::string_view kTicks = "ticks";                     // delivered
inline constexpr std::string_view kTicksMissed = "ticks_missed";        // deadlines skipped
inline constexpr std::string_view kTicksStretched = "ticks_stretched";  // idle threads skipped
inline constexpr std::string_view kSamples = "samples";                 // thread × tick
inline constexpr std::string_view kSamplesDropped = "samples_dropped";  // lost to a slow reader
inline constexpr std::string_view kStacksMissing = "stacks_missing";    // samples without a stack
inline constexpr std::string_view kStacksWalked = "stacks_walked";      // fresh walks
inline constexpr std::string_view kStacksRooted = "stacks_rooted";      // … that reached the root
inline constexpr std::string_view kStacksCut = "stacks_cut";            // … too deep
// … with functions of language runtimes whose names there was no memory for
inline constexpr std::string_view kStacksNameless = "stacks_nameless";
// Labels that a thread could not set, and values that were cut: include/swipr/swipr.h
inline constexpr std::string_view kLabelsLost = "labels_lost";
inline constexpr std::string_view kLabelsCut = "labels_cut";
inline constexpr std::string_view kSignalsSent = "signals_sent";
inline constexpr std::string_view kSignalsLate = "signals_late";     // unanswered by the next tick
inline constexpr std::string_view kThreads = "threads";              // seen so far
inline constexpr std::string_view kProcessCpuNs = "process_cpu_ns";  // growth during the recording
// Ends of calls that samples met (sampled_calls.h), lost because there were too many at once.
inline constexpr std::string_view kCallEndsLost = "call_ends_lost";
// With SWIPR_UNWINDER:
inline constexpr std::string_view kUnwinderMissing = "unwinder_missing";  // 1: no libunwind
inline constexpr std::string_view kStacksCompared = "stacks_compared";    // walked by both
inline constexpr std::string_view kStacksEqual = "stacks_equal";          // … with one result
inline constexpr std::string_view kDifferencesLeftOut = "differences_left_out";  // … not told
inline constexpr std::string_view kAgentCpuNs = "agent_cpu_ns";  // swipr's own share of it
}  // namespace counter

}  // namespace swipr::wire
