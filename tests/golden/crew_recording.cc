#include "tests/golden/crew_recording.h"

#include <deque>
#include <memory>
#include <string_view>
#include <utility>

namespace swipr::golden {

namespace {
using namespace std::chrono_literals;
using profile::State;

constexpr std::string_view kWalkName =
    "void tree::walk<std::vector<int, std::allocator<int> > >(std::vector<int> const&)";
constexpr std::uint64_t kLoadBias = 0x5000'0000;
constexpr int kProcesses = 3;
constexpr int kRounds = 20;
enum CrewStack : std::uint32_t { kInWalk, kInVisit };

profile::Process make_process(int pid) {
  profile::Process process;
  process.pid = Pid{pid};
  process.command_name = "crew";
  process.executable = "/opt/crew";
  process.interval = 10ms;
  process.duration = 3s;
  process.start_realtime = std::chrono::hours(24 * 365 * 100);  // later than any change
  process.complete = true;
  return process;
}

std::uint32_t add_frame(Golden& golden, std::uint64_t address, std::string_view function,
                        std::string_view file, std::uint32_t line) {
  profile::NamedFrame named;
  named.function = function;
  named.system_name = function;
  named.file = file;
  named.line = line;
  named.start_line = line == 0 ? 0 : line / 10 * 10;
  golden.recording.frames.push_back({0, 0, RuntimeAddr{kLoadBias + address}, PcKind::kExact});
  golden.names.frames.push_back({named});
  return static_cast<std::uint32_t>(golden.recording.frames.size() - 1);
}

void add_stacks(Golden& golden, std::string_view file) {
  const auto main = add_frame(golden, 0x1000, "main", "", 0);
  const auto walk = add_frame(golden, 0x1124, kWalkName, file, 14);
  const auto leaf = add_frame(golden, 0x1118, kWalkName, file, 12);
  const auto visit = add_frame(golden, 0x1240, "visit(int)", file, 20);
  golden.recording.stacks.resize(2);
  golden.recording.stacks[kInWalk].frames = {leaf, walk, visit, walk, main};
  golden.recording.stacks[kInVisit].frames = {visit, walk, main};
  for (profile::Stack& stack : golden.recording.stacks) stack.root_reached = true;
}

void add_sample(Golden& golden, std::chrono::nanoseconds time, std::uint32_t thread,
                std::uint32_t stack, std::chrono::nanoseconds wall) {
  golden.recording.samples.push_back(
      {7s + time, thread, stack, State::kRunning, 1, wall, 0ns, wall});
}

}  // namespace

Golden make_crew(const std::string& file) {
  Golden golden;
  const auto texts = std::make_shared<std::deque<std::string>>();
  texts->push_back(file);
  golden.names.texts = texts;
  profile::Recording& recording = golden.recording;
  for (int process = 0; process < kProcesses; ++process) {
    recording.processes.push_back(make_process(300 + process));
    recording.threads.push_back({static_cast<std::uint32_t>(process), Tid{300 + process}, "crew"});
  }
  recording.modules.resize(1);
  recording.modules[0].path = "/opt/the crew";
  recording.modules[0].load_bias = kLoadBias;
  add_stacks(golden, texts->back());
  for (int round = 1; round <= kRounds; ++round) {
    const auto end = round * 150ms;
    add_sample(golden, end, 0, kInVisit, 100ms);  // it had ended 50 ms before
    add_sample(golden, end, 0, kInWalk, 50ms);
    for (std::uint32_t thread = 1; thread < kProcesses; ++thread) {
      add_sample(golden, end, thread, kInWalk, 150ms);
    }
  }
  return golden;
}

}  // namespace swipr::golden
