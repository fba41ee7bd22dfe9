#include "tests/golden/workers_recording.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/profile/filter.h"

namespace swipr::golden {

namespace {
using namespace std::chrono_literals;
using profile::State;

// Stacks by index.
enum Stack : std::uint32_t { kParse, kParseLater, kRender, kWantsLog, kFlushes };

class WorkersMaker {
 public:
  Golden make(std::chrono::milliseconds duration) {
    profile::Recording& recording = golden_.recording;
    profile::Process process;
    process.pid = Pid{200};
    process.command_name = "workers";
    process.executable = "/opt/workers";
    process.interval = 10ms;
    process.duration = duration;
    process.complete = true;
    recording.processes.push_back(std::move(process));
    recording.modules.resize(2);
    recording.modules[0].path = "/opt/workers";
    recording.modules[1].path = "/usr/lib/libc.so.6";
    recording.threads = {{0, Tid{200}, "workers"}, {0, Tid{201}, "flusher"}};
    for (int tid = 211; tid < 215; ++tid) recording.threads.push_back({0, Tid{tid}, "pool"});
    add_stacks();
    add_samples(duration);
    return std::move(golden_);
  }

 private:
  std::uint32_t frame(std::uint32_t module, std::string_view name, std::string_view file,
                      std::uint32_t line) {
    profile::NamedFrame named;
    named.function = name;
    named.system_name = name;
    named.file = file;
    named.line = line;
    named.start_line = line == 0 ? 0 : line / 10 * 10;
    const std::uint64_t pc = 0x1000 + 16 * golden_.recording.frames.size();
    golden_.recording.frames.push_back({0, module, RuntimeAddr{pc}, PcKind::kReturnAddress});
    golden_.names.frames.push_back({named});
    return static_cast<std::uint32_t>(golden_.recording.frames.size() - 1);
  }

  void add_stacks() {
    const auto start = frame(1, "start_thread", "", 0);
    const auto run = frame(0, "run()", "/src/run.cc", 41);
    const auto run_log = frame(0, "run()", "/src/run.cc", 43);
    const auto parse = frame(0, "parse(int)", "/src/parse.cc", 12);
    const auto parse_later = frame(0, "parse(int)", "/src/parse.cc", 17);
    const auto render = frame(0, "render()", "/src/render.cc", 5);
    const auto log = frame(0, "want_log()", "/src/log.cc", 21);
    const auto lock = frame(1, "pthread_mutex_lock", "", 0);
    const auto flush = frame(0, "flush_log()", "/src/log.cc", 33);
    auto& stacks = golden_.recording.stacks;
    stacks.resize(5);
    stacks[kParse].frames = {parse, run, start};
    stacks[kParseLater].frames = {parse_later, run, start};
    stacks[kRender].frames = {render, parse, run, start};
    stacks[kWantsLog].frames = {lock, log, run_log, start};
    stacks[kWantsLog].wait_syscall = "futex";
    stacks[kWantsLog].runtime_wait = RuntimeWait::kMutex;
    stacks[kWantsLog].holder = Tid{201};
    stacks[kFlushes].frames = {flush, start};
    for (profile::Stack& stack : stacks) stack.root_reached = true;
  }

  // Each thread is sampled all the time; ticks are 7, 10 and 13 ms apart.
  void add_samples(std::chrono::milliseconds duration) {
    auto at = 0ms;
    for (int tick = 0; at < duration; ++tick) {
      const auto wall = 7ms + 3ms * (tick % 3);
      at += wall;
      add(at, 0, tick % 2 == 0 ? kRender : kParse, State::kRunning, wall);
      add(at, 1, kFlushes, State::kRunning, wall);
      for (std::uint32_t thread = 2; thread < 6; ++thread) {
        const bool runs = tick % 8 == static_cast<int>(thread);
        add(at, thread, runs ? kParseLater : kWantsLog, runs ? State::kRunning : State::kBlocked,
            wall);
      }
    }
  }

  void add(std::chrono::milliseconds at, std::uint32_t thread, std::uint32_t stack, State state,
           std::chrono::nanoseconds wall) {
    golden_.recording.samples.push_back(
        {7s + at, thread, stack, state, 1, state == State::kRunning ? wall : 0ns, 0ns, wall});
  }

  Golden golden_;
};

}  // namespace

Golden make_bursts() {
  Golden input = WorkersMaker().make(10ms);
  input.recording.threads.resize(1);
  input.recording.samples.clear();
  for (int tick = 1; tick <= 200; ++tick) {
    const bool is_burst = tick % 4 == 0;
    const auto time = 7s + tick * 10ms;
    input.recording.samples.push_back(
        {time, 0, kParse, State::kBlocked, 1, 0ns, 0ns, is_burst ? 2ms : 8ms});
    if (!is_burst) continue;
    input.recording.samples.back().time -= 8ms;
    input.recording.samples.push_back({time, 0, kRender, State::kRunning, 1, 14ms, 0ns, 14ms});
  }
  return input;
}

Golden make_workers() { return WorkersMaker().make(2000ms); }

Golden make_deadlock() {
  Golden input = make_workers();
  profile::Recording& recording = input.recording;
  for (const std::uint32_t thread : {2u, 3u}) {
    const profile::Thread& other = recording.threads[5 - thread];
    recording.stacks.push_back(profile::Stack(recording.stacks[kWantsLog]));
    recording.stacks.back().holder = other.tid;
    const auto last = std::find_if(recording.samples.rbegin(), recording.samples.rend(),
                                   [thread](const auto& each) { return each.thread == thread; });
    const auto stack = static_cast<std::uint32_t>(recording.stacks.size() - 1);
    recording.samples.push_back(
        {last->time + 1s, thread, stack, State::kBlocked, 100, 0ns, 0ns, 1s});
  }
  recording.processes[0].duration += 1s;
  return input;
}

Golden make_workers_comparison() {
  Golden input = make_workers();
  Golden base = WorkersMaker().make(1000ms);
  profile::append(input.recording, std::move(base.recording), profile::Align::kBegin);
  input.names.frames.insert(input.names.frames.end(), base.names.frames.begin(),
                            base.names.frames.end());
  return input;
}

}  // namespace swipr::golden
