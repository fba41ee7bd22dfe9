#include "tests/unit/preload/runtimes/v8/v8_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "preload/unwind/image/elf_image.h"
#include "tests/unit/preload/runtimes/native_frames.h"

namespace swipr::runtimes {
namespace {

std::vector<std::string> split_fields(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::vector<std::string> find_nodes() {
  std::set<std::string> found;
  for (const std::string& folder : split_fields(variable("PATH"), ':')) {
    const std::filesystem::path program = folder + "/node";
    if (!std::filesystem::exists(program)) continue;
    found.insert(std::filesystem::canonical(program));
    break;
  }
  for (const std::string& program : split_fields(variable("SWIPR_NODES"), ':')) {
    if (std::filesystem::exists(program)) found.insert(std::filesystem::canonical(program));
  }
  return {found.begin(), found.end()};
}

std::string name_of_node(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

NodeProcess::NodeProcess(const std::string& node, const std::vector<std::string>& arguments) {
  int output[2] = {-1, -1};
  if (::pipe2(output, O_CLOEXEC) != 0) return;
  start(node, arguments, output[1]);
  ::close(output[1]);
  read_output(output[0]);
  memory_ = ::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  is_ready_ = is_ready_ && wait_until_blocked();
}

NodeProcess::~NodeProcess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);  // with its children
    ::waitpid(pid_, nullptr, 0);
  }
  if (memory_ >= 0) ::close(memory_);
}

void NodeProcess::start(const std::string& node, const std::vector<std::string>& arguments,
                        int output) {
  std::vector<std::string> all = {node};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setpgid(0, 0);
  ::dup2(output, 1);
  ::execv(node.c_str(), argv.data());
  ::_exit(1);
}

void NodeProcess::read_output(int output) {
  FILE* const stream = ::fdopen(output, "r");
  char* line = nullptr;
  std::size_t room = 0;
  while (!is_ready_ && ::getline(&line, &room, stream) > 0) {
    std::string text(line);
    text.pop_back();
    std::vector<std::string> fields = split_fields(text, '\t');
    is_ready_ = fields[0] == "ready";
    if (fields[0] != "frame") continue;
    fields.resize(5);
    const auto number = [&fields](std::size_t at) {
      return static_cast<std::uint32_t>(std::strtoul(fields[at].c_str(), nullptr, 10));
    };
    frames_.push_back({fields[1], fields[2], number(3), number(4)});
  }
  std::free(line);
  std::fclose(stream);
}

std::vector<pid_t> NodeProcess::threads() const {
  std::vector<pid_t> found;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    found.push_back(std::stoi(task.path().filename()));
  }
  return found;
}

// All of its threads.
bool NodeProcess::wait_until_blocked() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const pid_t thread : threads()) {
    const std::string path =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(thread) + "/syscall";
    for (std::string call = "running"; call == "running";) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::ifstream(path) >> call;
      if (call == "running") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

bool NodeProcess::read_memory(void* state, std::uint64_t address,
                              std::span<std::byte> out) noexcept {
  const int memory = static_cast<NodeProcess*>(state)->memory_;
  return ::pread(memory, out.data(), out.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(out.size());
}

V8Detection NodeProcess::detect(unwind::ImageReader through) {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> path;
    if (!path.starts_with('/') || offset.find_first_not_of('0') != std::string::npos) continue;
    unwind::ElfImage image;
    const std::uint64_t begin = std::strtoull(range.c_str(), nullptr, 16);
    unwind::read_elf_image(begin, reader(), image);
    const Range<std::uint64_t> dynamic{image.dynamic.begin + image.load_bias,
                                       image.dynamic.end + image.load_bias};
    const V8Detection found = detect_v8(dynamic, image.load_bias, through);
    if (found.state != DetectionState::kAbsent) return found;
  }
  return {};
}

std::unique_ptr<unwind::FrameBuffer> NodeProcess::walk(pid_t thread) const {
  auto frames = std::make_unique<unwind::FrameBuffer>();
  const NativeFrames native = unwind_thread(pid_, thread);
  for (std::size_t i = 0; i < native.pcs.size() && i < frames->pcs.size(); ++i) {
    const bool is_left_by_frame_pointer = i != 0 && !native.have_cfi[i - 1];
    frames->pcs[i] = native.pcs[i];
    frames->stacks[i] = native.stacks[i];
    frames->kinds[i] = static_cast<std::uint8_t>(
        is_left_by_frame_pointer ? wire::FrameSource::kFramePointer : wire::FrameSource::kCfi);
    ++frames->frame_count;
  }
  frames->flags = wire::kStackRootReached;
  return frames;
}

}  // namespace swipr::runtimes
