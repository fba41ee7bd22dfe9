#include "tests/unit/preload/runtimes/java/java_process.h"

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

#include "preload/runtimes/object_reader.h"
#include "preload/unwind/image/elf_image.h"

namespace swipr::runtimes {
namespace {

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// JavaApp's classes; compiled once, for the oldest version that is read. Empty: javac has failed.
class CompiledApp {
 public:
  CompiledApp() {
    std::string folder = std::filesystem::temp_directory_path() / "swipr-java-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    const std::string command =
        "javac -encoding UTF-8 --release 8 -nowarn -d " + folder_ + " " SWIPR_JAVA_APP;
    if (std::system(command.c_str()) != 0) folder_.clear();
  }
  ~CompiledApp() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

const std::string& compiled_app() {
  static const CompiledApp app;
  return app.folder();
}

}  // namespace

std::vector<JavaMachine> find_java_machines() {
  std::vector<std::string> homes;
  if (std::filesystem::is_directory("/usr/lib/jvm")) {
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/jvm")) {
      homes.push_back(entry.path());
    }
  }
  const char* const listed = std::getenv("SWIPR_JAVA_HOMES");
  for (const std::string& home : split_text(listed != nullptr ? listed : "", ':')) {
    homes.push_back(home);
  }
  std::set<std::string> programs;
  for (const std::string& home : homes) {
    const std::filesystem::path program = home + "/bin/java";
    if (std::filesystem::exists(program)) programs.insert(std::filesystem::canonical(program));
  }
  std::vector<JavaMachine> found;
  for (const std::string& program : programs) {
    for (const char* const mode : {"-Xint", "-Xcomp", "-Xmixed"}) found.push_back({program, mode});
  }
  return found;
}

std::string name_of_java_machine(const ::testing::TestParamInfo<JavaMachine>& info) {
  std::string name = info.param.program + info.param.mode;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

JavaProcess::JavaProcess(const JavaMachine& machine) {
  int input[2] = {-1, -1};
  int output[2] = {-1, -1};
  if (compiled_app().empty() || ::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) {
    return;
  }
  input_ = input[1];
  start(machine, input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  read_output(output[0]);
  memory_ = ::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  is_ready_ = is_ready_ && find_tids() && wait_until_blocked();
}

JavaProcess::~JavaProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (memory_ >= 0) ::close(memory_);
  if (input_ >= 0) ::close(input_);
}

void JavaProcess::start(const JavaMachine& machine, int input, int output) {
  const std::string folder = compiled_app();
  // Compiling everything would take seconds; thus stacks have frames of both kinds.
  const char* const compiled =
      machine.mode == "-Xcomp" ? "-XX:CompileCommand=compileonly,JavaApp::*" : "-XX:+UseSerialGC";
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::execl(machine.program.c_str(), machine.program.c_str(), machine.mode.c_str(), "-Xmx64m",
          compiled, "-cp", folder.c_str(), "JavaApp", nullptr);
  ::_exit(1);
}

void JavaProcess::read_output(int output) {
  FILE* const stream = ::fdopen(output, "r");
  char* line = nullptr;
  std::size_t room = 0;
  while (!is_ready_ && ::getline(&line, &room, stream) > 0) {
    std::string text(line);
    text.pop_back();
    std::vector<std::string> fields = split_text(text, '\t');
    is_ready_ = fields[0] == "ready";
    if (fields[0] == "thread") {
      stacks_.push_back({.name = fields[1], .tid = 0, .frames = {}});
    } else if (fields[0] == "frame") {
      const auto number = std::strtoul(fields[3].c_str(), nullptr, 10);
      stacks_.back().frames.push_back({fields[1], fields[2], static_cast<std::uint32_t>(number)});
    }
  }
  std::free(line);
  std::fclose(stream);
}

// The VM gives its threads their names.
bool JavaProcess::find_tids() {
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  std::size_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    for (ExpectedJavaStack& stack : stacks_) {
      if (stack.name != name) continue;
      stack.tid = static_cast<std::uint32_t>(std::stoul(task.path().filename()));
      ++found;
    }
  }
  return found == stacks_.size() && found != 0;
}

bool JavaProcess::wait_until_blocked() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const ExpectedJavaStack& stack : stacks_) {
    const std::string path =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(stack.tid) + "/syscall";
    for (std::string call = "running"; call == "running";) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::ifstream(path) >> call;
      if (call == "running") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

bool JavaProcess::read_memory(void* state, std::uint64_t address,
                              std::span<std::byte> out) noexcept {
  const int memory = static_cast<JavaProcess*>(state)->memory_;
  return ::pread(memory, out.data(), out.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(out.size());
}

JavaDetection JavaProcess::detect() {
  ObjectPieces pieces(reader());
  return detect_through(pieces.image_reader());
}

JavaDetection JavaProcess::detect_through(unwind::ImageReader through) {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> path;
    if (!path.ends_with(".so") || offset.find_first_not_of('0') != std::string::npos) continue;
    unwind::ElfImage image;
    const std::uint64_t begin = std::strtoull(range.c_str(), nullptr, 16);
    unwind::read_elf_image(begin, reader(), image);
    const Range<std::uint64_t> dynamic{image.dynamic.begin + image.load_bias,
                                       image.dynamic.end + image.load_bias};
    JavaDetection found = detect_java(dynamic, image.load_bias, through);
    if (found.state == DetectionState::kAbsent) continue;
    if (found.state == DetectionState::kFound && !refresh_java(found.runtime, reader())) {
      found.state = DetectionState::kStarting;
    }
    return found;
  }
  return {};
}

}  // namespace swipr::runtimes
