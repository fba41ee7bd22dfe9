// Pages of code are exchanged while threads execute them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/gate/mapped_page.h"
#include "preload/trace/traced_function.h"
#include "tests/unit/preload/trace/gate/forks.h"
#include "tests/unit/preload/trace/gate/program_functions.h"
#include "tests/unit/preload/trace/traced_functions.h"

namespace swipr::trace {
namespace {

// As the control thread: never traced.
class Gate : public testing::Test {
 protected:
  Gate() {
    install_gate_handler();
    exclude_this_thread();
  }
};

// "offset device inode path" of the mapping with this address.
std::string mapping_of(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    std::uint64_t begin = 0, end = 0, offset = 0;
    char dash = 0;
    std::string permissions, device, inode, path;
    text >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode >> path;
    if (address < begin || address >= end) continue;
    std::ostringstream out;
    out << permissions << ' ' << std::hex << offset + (address - begin) << ' ' << device << ' '
        << inode << ' ' << path;
    return out.str();
  }
  return {};
}

TEST_F(Gate, ThreadsExecuteTheOldCodeOrTheNew) {
  TracedFunction& function = traced(reinterpret_cast<void*>(&triple));
  std::atomic<bool> stops{false};
  std::atomic<long> wrong{0};
  const auto work = [&] {
    for (long value = 0; !stops; ++value) wrong += triple(value) != 3 * value;
  };
  std::thread threads[] = {std::thread(work), std::thread(work)};
  for (int round = 0; round < 500; ++round) {
    const GateReport report = function.attach();
    ASSERT_EQ(report.status, GateStatus::kDone);
    EXPECT_EQ(report.signalled, 0u);
    ASSERT_FALSE(function.is_as_before());
    ASSERT_EQ(function.detach().status, GateStatus::kDone);
    ASSERT_TRUE(function.is_as_before());
  }
  stops = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  Histogram sum;
  add_up(function.probe(), sum);
  EXPECT_GT(sum.calls, 0u);
}

TEST_F(Gate, ThePageIsStillOneOfItsFile) {
  TracedFunction& function = traced(reinterpret_cast<void*>(&add_nine));
  const std::string before = mapping_of(function.function());
  ASSERT_NE(before.find('/'), before.npos);
  EXPECT_EQ(function.attach().status, GateStatus::kDone);
  EXPECT_EQ(mapping_of(function.function()), before);
  EXPECT_EQ(function.detach().status, GateStatus::kDone);
  EXPECT_EQ(mapping_of(function.function()), before);
}

// mov x0,#41; ret
constexpr std::uint32_t kCode[] = {0xd2800520, 0xd65f03c0};

// Code in memory, of a file or of none.
class MappedCode {
 public:
  explicit MappedCode(const std::string& path) : path_(path) {
    int file = -1;
    if (!path.empty()) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(kCode), sizeof kCode);
      file = ::open(path.c_str(), O_RDONLY);
    }
    const int flags = MAP_PRIVATE | (path.empty() ? MAP_ANONYMOUS : 0);
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (path.empty()) std::memcpy(memory_, kCode, sizeof kCode);
    if (file >= 0) ::close(file);
    machine::synchronise_code(memory_, sizeof kCode);
    ::mprotect(memory_, kBytes, PROT_READ | PROT_EXEC);
  }
  ~MappedCode() {
    std::filesystem::remove(path_);
    ::munmap(memory_, kBytes);
  }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  Function function() const {
    return {reinterpret_cast<std::uint64_t>(memory_),
            {static_cast<const std::uint8_t*>(memory_), sizeof kCode}};
  }
  long call() const { return reinterpret_cast<long (*)()>(memory_)(); }

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  std::string path_;
  void* memory_ = nullptr;
};

TEST_F(Gate, CodeOfNoFileIsChanged) {
  const MappedCode code("");
  Plan plan;
  ASSERT_EQ(make_plan(code.function(), plan), Refusal::kNone);
  TracedFunction& function = set_up_traced(code.function(), plan);
  ASSERT_EQ(function.attach().status, GateStatus::kDone);
  std::thread([&] { EXPECT_EQ(code.call(), 41); }).join();
  EXPECT_EQ(count_calls(function.probe()), 1u);
  EXPECT_EQ(function.detach().status, GateStatus::kDone);
  EXPECT_TRUE(function.is_as_before());
}

TEST_F(Gate, CodeOfADeletedFileIsNotChangedButRestored) {
  const std::string path = testing::TempDir() + "code" + std::to_string(::getpid());
  const MappedCode code(path);
  Plan plan;
  ASSERT_EQ(make_plan(code.function(), plan), Refusal::kNone);
  TracedFunction& function = set_up_traced(code.function(), plan);
  ASSERT_EQ(function.attach().status, GateStatus::kDone);
  std::filesystem::remove(path);
  EXPECT_EQ(function.detach().status, GateStatus::kDone);
  EXPECT_TRUE(function.is_as_before());
  const MappedCode other(path);
  ASSERT_EQ(make_plan(other.function(), plan), Refusal::kNone);
  TracedFunction& second = set_up_traced(other.function(), plan);
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(kCode), sizeof kCode);
  EXPECT_EQ(second.attach().status, GateStatus::kNotWritable);
  EXPECT_TRUE(second.is_as_before());
  EXPECT_EQ(other.call(), 41);
}

TEST_F(Gate, OtherBytesAreLeftAlone) {
  const MappedCode code("");
  Plan plan;
  ASSERT_EQ(make_plan(code.function(), plan), Refusal::kNone);
  TracedFunction& function = set_up_traced(code.function(), plan);
  void* const memory = reinterpret_cast<void*>(code.function().address);
  ASSERT_EQ(::mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
  std::memset(memory, 0, 4);
  EXPECT_EQ(function.attach().status, GateStatus::kGone);
}

TEST_F(Gate, IsClosedForForks) {
  expect_closed_for_forks(
      traced(reinterpret_cast<void*>(&recurse)), [] { return recurse(2) == 2; },
      [](auto run) { return std::thread(run); });
}

}  // namespace
}  // namespace swipr::trace
