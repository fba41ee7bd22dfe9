#include "tests/golden/golden_recording.h"

#include <elf.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/profile/filter.h"

namespace swipr::golden {

namespace {
using namespace std::chrono_literals;
using profile::State;

profile::NamedFrame function(std::string_view name, std::string_view system_name,
                             std::string_view file, std::uint32_t line, std::uint64_t offset) {
  profile::NamedFrame named;
  named.function = name;
  named.system_name = system_name;
  named.file = file;
  named.line = line;
  named.start_line = line > 5 ? line - 5 : line;
  named.offset = offset;
  return named;
}

profile::Module module(std::uint64_t start, std::uint64_t offset, std::uint64_t bias,
                       std::string build_id, std::string path) {
  profile::Module entry;
  entry.start = RuntimeAddr{start};
  entry.size_bytes = 0x10000;
  entry.file_offset = FileOffset{offset};
  entry.load_bias = bias;
  entry.build_id = std::move(build_id);
  entry.path = std::move(path);
  return entry;
}

class Maker {
 public:
  Golden make() {
    add_process_and_modules();
    add_threads();
    add_frames_and_stacks();
    add_samples();
    golden_.recording.warnings = {"golden (100): 2 of 50 ticks came too late and were skipped"};
    return std::move(golden_);
  }

  Golden make_mixed() {
    golden_ = make();
    golden_.recording.functions = {
        {0, Language::kPython, "Worker.run", "/src/golden/app.py", 28},
        {0, Language::kPython, "<module>", "/src/golden/app.py", 1},
        {0, Language::kPython, "", "", 0},
    };
    const auto run = python_frame(0, 31, "Worker.run (app.py)");
    const auto script = python_frame(1, 55, "<module> (app.py)");
    const auto lost = python_frame(2, 0, profile::kFunctionGone);
    const std::vector<std::uint32_t> busy = golden_.recording.stacks[0].frames;
    stack({busy[0], run, lost, script, busy[1], busy[2]});  // 4: native code below Python
    stack({run, script, busy[1], busy[2]});                 // 5: Python
    sample(490ms, 1, 4, State::kRunning, 1, 4ms, 0ns, 10ms);
    sample(500ms, 1, 5, State::kRunning, 1, 6ms, 1ms, 10ms);
    golden_.recording.processes[0].totals["samples"] += 2;
    return std::move(golden_);
  }

 private:
  void add_process_and_modules() {
    profile::Process process;
    process.pid = Pid{100};
    process.parent_pid = Pid{1};
    process.command_name = "golden";
    process.executable = "/opt/golden/bin/golden";
    process.command_line = {"golden", "--serve"};
    process.start_realtime = 1'700'000'000s;
    process.start_monotonic = 5'000s;
    process.machine = EM_X86_64;
    process.interval = 10ms;
    process.duration = 500ms;
    process.complete = true;
    process.totals = {{"ticks", 48}, {"samples", 63}, {"ticks_missed", 2}};
    golden_.recording.processes.push_back(std::move(process));
    golden_.recording.modules = {
        module(0x7f0000020000, 0x26000, 0x7effffffa000, "c0ffee02", "/usr/lib/libc.so.6"),
        module(0x555555555000, 0x1000, 0x555555554000, "c0ffee01", "/opt/golden/bin/golden"),
        module(0x7f0000050000, 0x2000, 0x7f000004e000, "", "/opt/my plugins (old)/p.so (deleted)"),
    };
  }

  void add_threads() {
    golden_.recording.threads = {
        {0, Tid{100}, "golden"}, {0, Tid{101}, "pool 3/4 #1"}, {0, Tid{102}, ""}};
  }

  std::uint32_t frame(std::uint32_t module, std::uint64_t pc, PcKind kind,
                      profile::FrameNames names) {
    golden_.recording.frames.push_back({0, module, RuntimeAddr{pc}, kind});
    golden_.names.frames.push_back(std::move(names));
    return static_cast<std::uint32_t>(golden_.recording.frames.size() - 1);
  }

  // A line of a Python function, named as `convert` does.
  std::uint32_t python_frame(std::uint32_t number, std::uint32_t line, std::string_view name) {
    const profile::Function& entry = golden_.recording.functions[number];
    profile::NamedFrame named = function(name, entry.name, entry.file, line, 0);
    named.start_line = entry.start_line;
    named.language = entry.language;
    const std::uint64_t pc = runtime_frame_pc({.function = number + 1, .line = line});
    const auto index = frame(profile::kNone, pc, PcKind::kExact, {named});
    golden_.recording.frames[index].function = number;
    golden_.recording.frames[index].line = line;
    return index;
  }

  void stack(std::vector<std::uint32_t> frames, std::uint32_t omitted_at = profile::kNone,
             std::string wait_syscall = {}) {
    golden_.recording.stacks.push_back(
        {std::move(frames), omitted_at, std::move(wait_syscall), true});
  }

  void add_frames_and_stacks() {
    const auto start = frame(1, 0x555555555101, PcKind::kReturnAddress,
                             {function("_start", "_start", "", 0, 0x21)});
    const auto main = frame(1, 0x555555555210, PcKind::kReturnAddress,
                            {function("main", "main", "/src/golden/main.cc", 40, 0x30)});
    profile::NamedFrame inlined =
        function("mix(unsigned int)", "_Z3mixj", "/src/golden/mix.h", 12, 0);
    inlined.inlined = true;
    const auto hot =
        frame(1, 0x555555555333, PcKind::kExact,
              {inlined,
               function("(anonymous namespace)::burn(std::vector<int> const&)",
                        "_ZN12_GLOBAL__N_14burnERKSt6vectorIiE", "/src/golden/main.cc", 17, 0x13)});
    const auto arrow = frame(1, 0x555555555444, PcKind::kReturnAddress,
                             {function("Handle<Job>::operator->() const", "_ZNK6HandleI3JobEptEv",
                                       "/src/golden/job.h", 8, 0x44)});
    const auto poll = frame(0, 0x7f0000021234, PcKind::kExact,
                            {function("__poll", "__poll", "./sysdeps/poll.c", 29, 0x4d)});
    const auto plugin =
        frame(2, 0x7f0000050777, PcKind::kReturnAddress, {function("[p.so+0x2776]", "", "", 0, 0)});
    const auto generated = frame(profile::kNone, 0x7e0000000042, PcKind::kReturnAddress,
                                 {function("[0x7e0000000042]", "", "", 0, 0)});
    const auto lines = frame(1, 0x555555555555, PcKind::kReturnAddress,
                             {function("two;parts\nand lines", "two", "", 0, 0x5)});
    stack({hot, main, start});                                  // 0: busy
    stack({poll, arrow, main, start}, profile::kNone, "poll");  // 1: waits in poll
    stack({plugin, generated, lines});                          // 2: names to take care of
    stack({hot, hot, main, start}, 2);                          // 3: recursion, cut
  }

  void sample(std::chrono::milliseconds at, std::uint32_t thread, std::uint32_t stack, State state,
              std::uint64_t ticks, std::chrono::nanoseconds cpu, std::chrono::nanoseconds runqueue,
              std::chrono::nanoseconds wall) {
    golden_.recording.samples.push_back(
        {5'000s + at, thread, stack, state, ticks, cpu, runqueue, wall});
  }

  void add_samples() {
    sample(10ms, 0, 0, State::kRunning, 1, 9ms, 500us, 10ms);
    sample(20ms, 0, 0, State::kRunning, 1, 10ms, 0ns, 10ms);
    sample(20ms, 2, profile::kNone, State::kUnknown, 1, 0ns, 0ns, 10ms);
    sample(30ms, 0, 3, State::kRunnable, 1, 1ms, 9ms, 10ms);
    sample(40ms, 1, 2, State::kRunning, 1, 2'500us, 0ns, 10ms);
    sample(140ms, 1, 1, State::kBlocked, 10, 0ns, 0ns, 100ms);
    sample(150ms, 2, 2, State::kBlocked, 1, 0ns, 0ns, 10ms);
    sample(480ms, 0, 1, State::kBlocked, 45, 0ns, 0ns, 450ms);
  }

  Golden golden_;
};
}  // namespace

Golden make_golden() { return Maker().make(); }
Golden make_mixed_golden() { return Maker().make_mixed(); }

Golden make_comparison() {
  Golden input = make_golden();
  Golden base = make_golden();
  base.recording.samples.back().wall /= 2;
  base.recording.samples.back().ticks = 22;
  base.recording.samples.erase(base.recording.samples.begin());
  profile::append(input.recording, std::move(base.recording), profile::Align::kBegin);
  input.names.frames.insert(input.names.frames.end(), base.names.frames.begin(),
                            base.names.frames.end());
  return input;
}

}  // namespace swipr::golden
