#include "tests/unit/preload/runtimes/python_process.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "preload/unwind/image/elf_image.h"

namespace swipr::runtimes {
namespace {

std::vector<std::string> files_matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> result;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) result.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return result;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

using Suffixes = std::vector<std::string>;
const Suffixes kRead = {"3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"};
const Suffixes kRefused = {"3.7",   "3.16",  "3.8d",  "3.9d",  "3.10d", "3.11d",
                           "3.12d", "3.13d", "3.14d", "3.13t", "3.14t"};

std::vector<std::string> programs_in(const std::string& folder, const Suffixes& suffixes) {
  std::vector<std::string> found;
  for (const std::string& suffix : suffixes) {
    for (const std::string& file :
         files_matching(std::filesystem::path(folder) / ("python" + suffix))) {
      found.push_back(file);
    }
  }
  return found;
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

std::vector<Interpreter> find_programs(const Suffixes& suffixes) {
  std::vector<Interpreter> found;
  std::map<std::string, int> versions;
  for (const std::string& folder : files_matching("/root/.pyenv/versions/*/bin")) {
    for (const std::string& file : programs_in(folder, suffixes)) {
      const std::string version = std::filesystem::path(file).filename().string();
      if (versions[version]++ == 0) found.push_back({"", file});
    }
  }
  const char* const listed = std::getenv("SWIPR_PYTHON_ROOTS");
  std::vector<std::string> roots = split(listed != nullptr ? listed : "", ':');
  roots.insert(roots.begin(), "");
  for (const std::string& root : roots) {
    for (const std::string& file : programs_in(root + "/usr/bin", suffixes)) {
      found.push_back({root, file.substr(root.size())});
    }
  }
  return found;
}

}  // namespace

std::vector<Interpreter> find_interpreters() { return find_programs(kRead); }
std::vector<Interpreter> find_refused_interpreters() { return find_programs(kRefused); }

std::string name_of_interpreter(const ::testing::TestParamInfo<Interpreter>& info) {
  std::string name = info.param.label();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

PythonProcess::PythonProcess(const Interpreter& interpreter, const char* app, std::size_t stacks,
                             std::size_t blocked)
    : expected_(stacks) {
  int input[2] = {-1, -1};
  int output[2] = {-1, -1};
  if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) return;
  input_ = input[1];
  start(interpreter, app, input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  read_output(output[0], blocked);
  ::close(output[0]);
  memory_ = ::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (!wait_until_blocked()) stacks_.clear();
}

PythonProcess::~PythonProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (memory_ >= 0) ::close(memory_);
  if (input_ >= 0) ::close(input_);
}

// The program comes through a descriptor, since a chroot does not have its file.
void PythonProcess::start(const Interpreter& interpreter, const char* app_file, int input,
                          int output) {
  std::ifstream file(app_file);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string app = text.str();
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::dup2(input, 0);
  ::dup2(output, 1);
  if (!interpreter.root.empty() && (::chroot(interpreter.root.c_str()) != 0 || ::chdir("/") != 0)) {
    ::_exit(1);
  }
  ::execl(interpreter.program.c_str(), interpreter.program.c_str(), "-c", app.c_str(), nullptr);
  ::_exit(1);
}

void PythonProcess::read_output(int output, std::size_t most_blocked) {
  FILE* const stream = ::fdopen(::dup(output), "r");
  char* line = nullptr;
  std::size_t room = 0;
  std::size_t blocked = 0;
  while (blocked<most_blocked&& ::getline(&line, &room, stream)> 0) {
    std::string text(line);
    text.pop_back();
    const std::vector<std::string> fields = split(text, '\t');
    if (fields[0] == "thread") {
      stacks_.push_back({.tid = number(fields[1]), .kind = fields[2], .frames = {}});
    } else if (fields[0] == "frame") {
      stacks_.back().frames.push_back({fields[1], fields[2], number(fields[3]), number(fields[4])});
    } else if (fields[0] == "code") {
      ExpectedCode code{std::strtoull(fields[1].c_str(), nullptr, 10), number(fields[2]), {}};
      for (std::size_t i = 3; i < fields.size(); ++i) {
        const std::size_t colon = fields[i].find(':');
        code.lines.emplace_back(number(fields[i]), number(fields[i].substr(colon + 1)));
      }
      codes_.push_back(std::move(code));
    } else if (fields[0] == "blocked") {
      ++blocked;
    }
  }
  std::free(line);
  std::fclose(stream);
}

// In read(): their frames do not change any more.
bool PythonProcess::wait_until_blocked() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const ExpectedStack& stack : stacks_) {
    const std::string path =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(stack.tid) + "/syscall";
    for (std::string call; call != "0";) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::ifstream(path) >> call;
      if (call != "0") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

bool PythonProcess::read_memory(void* state, std::uint64_t address,
                                std::span<std::byte> out) noexcept {
  const int memory = static_cast<PythonProcess*>(state)->memory_;
  return ::pread(memory, out.data(), out.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(out.size());
}

PythonDetection PythonProcess::detect() {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> path;
    if (path.empty() || path[0] != '/' || offset.find_first_not_of('0') != std::string::npos) {
      continue;
    }
    unwind::ElfImage image;
    const std::uint64_t start = std::strtoull(range.c_str(), nullptr, 16);
    unwind::read_elf_image(start, reader(), image);
    const Range<std::uint64_t> dynamic{image.dynamic.begin + image.load_bias,
                                       image.dynamic.end + image.load_bias};
    const PythonDetection found = detect_python(dynamic, image.load_bias, reader());
    dynamic_ = dynamic;
    load_bias_ = image.load_bias;
    if (found.state != DetectionState::kAbsent) return found;
  }
  return {};
}

}  // namespace swipr::runtimes
