#include "cli/commands/names/jit_frames.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace swipr::commands {
namespace {

using std::chrono::nanoseconds;

// A folder that contains the /tmp of a system.
class JitFramesTest : public testing::Test {
 protected:
  JitFramesTest() {
    std::string path = testing::TempDir() + "swipr-jit-XXXXXX";
    symfs_ = ::mkdtemp(path.data());
    std::filesystem::create_directories(symfs_ + "/tmp");
    recording_.processes.emplace_back().pid = Pid{4711};
    recording_.threads.emplace_back();
    recording_.frames.push_back({0, profile::kNone, RuntimeAddr{0x1010}, PcKind::kExact});
    recording_.frames.push_back({0, profile::kNone, RuntimeAddr{0x2000}, PcKind::kReturnAddress});
    recording_.stacks.push_back({.frames = {0, 1}});
  }
  ~JitFramesTest() override { std::filesystem::remove_all(symfs_); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(symfs_ + "/tmp/" + name, std::ios::binary) << bytes;
  }
  void sample_at(std::int64_t time) {
    recording_.samples.push_back({.time = nanoseconds(time), .thread = 0, .stack = 0});
  }

  std::string symfs_;
  profile::Recording recording_;
};

template <typename T>
void add(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string dump_header() {
  std::string bytes;
  for (const std::uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, 4711u}) add(&bytes, word);
  add(&bytes, std::uint64_t{0});
  add(&bytes, std::uint64_t{0});
  return bytes;
}

void add_load(std::string* bytes, std::uint64_t time, std::uint64_t begin, const char* name) {
  constexpr std::uint64_t kCodeBytes = 0x40;
  add(bytes, std::uint32_t{0});
  add(bytes, static_cast<std::uint32_t>(16 + 40 + std::strlen(name) + 1 + kCodeBytes));
  add(bytes, time);
  for (const std::uint64_t word : {std::uint64_t{0}, begin, begin, kCodeBytes, begin}) {
    add(bytes, word);
  }
  bytes->append(name, std::strlen(name) + 1).append(kCodeBytes, '\xcc');
}

TEST_F(JitFramesTest, NamesFramesFromThePerfMap) {
  write("perf-4711.map", "1000 100 hot loop\n1f00 100 caller\n");
  sample_at(5);
  const JitFrames jit(recording_, symfs_);
  ASSERT_TRUE(jit.find(0) && jit.find(1));
  EXPECT_EQ(jit.find(0)->function, "hot loop");
  EXPECT_EQ(jit.find(0)->offset, 0x10u);
  EXPECT_EQ(jit.find(1)->function, "caller") << "of the byte before the return address";
  EXPECT_EQ(recording_.stacks.size(), 1u);
}

TEST_F(JitFramesTest, AreOfTheRuntimeThatNobodyReads) {
  write("perf-4711.map", "1000 100 int32 [app] Shop::Buy(class Cart)[OptimizedTier1]\n");
  sample_at(5);
  recording_.runtimes.push_back({0, Language::kPython, "3.11.2", ""});
  EXPECT_EQ(JitFrames(recording_, symfs_).find(0)->language, Language::kNative);
  recording_.runtimes.push_back({0, Language::kDotNet, "CoreCLR", ".NET CoreCLR: not read"});
  EXPECT_EQ(JitFrames(recording_, symfs_).find(0)->language, Language::kDotNet);
}

TEST_F(JitFramesTest, DoesNotBelieveAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  write("perf-4711.map", "1000 100 hot loop\n1f00 100 caller\n");
  ASSERT_EQ(::chmod(symfs_.c_str(), 0755), 0);
  sample_at(5);
  for (const uid_t owner : {65533u, 65534u}) {
    ASSERT_EQ(::chown((symfs_ + "/tmp/perf-4711.map").c_str(), owner, owner), 0);
    ASSERT_EQ(::seteuid(65534), 0);
    const JitFrames jit(recording_, symfs_);
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_EQ(jit.find(0).has_value(), owner == 65534u);
  }
}

TEST_F(JitFramesTest, BelievesAsRootOnlyRootAndTheUserOfTheProcess) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root reads everybody's files";
  write("perf-4711.map", "1000 100 hot loop\n1f00 100 caller\n");
  write("jit-4711.dump", dump_header());
  sample_at(5);
  const auto is_believed = [this](uid_t owner) {
    EXPECT_EQ(::chown((symfs_ + "/tmp/perf-4711.map").c_str(), owner, owner), 0);
    return JitFrames(recording_, symfs_).find(0).has_value();
  };
  EXPECT_TRUE(is_believed(0));
  EXPECT_FALSE(is_believed(65533)) << "whose process it was is not known";
  recording_.processes.front().user = 65533;
  EXPECT_TRUE(is_believed(65533));
  EXPECT_FALSE(is_believed(65534));
}

TEST_F(JitFramesTest, DoesNotBelieveDumpsOfOthersAsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root reads everybody's files";
  std::string dump = dump_header();
  add_load(&dump, 1, 0x1000, "planted");
  write("jit-4711.dump", dump);
  sample_at(5);
  ASSERT_EQ(::chown((symfs_ + "/tmp/jit-4711.dump").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(JitFrames(recording_, symfs_).find(0));
}

TEST_F(JitFramesTest, TellsApartWhatWasThereAtDifferentTimes) {
  std::string dump = dump_header();
  add_load(&dump, 100, 0x1000, "first");
  add_load(&dump, 200, 0x1000, "second");
  write("jit-4711.dump", dump);
  for (const std::int64_t time : {50, 150, 160, 250, 260}) sample_at(time);
  const JitFrames jit(recording_, symfs_);
  const auto name_of = [&](std::size_t sample) {
    const auto found = jit.find(recording_.stacks[recording_.samples[sample].stack].frames[0]);
    return found ? std::string(found->function) : std::string();
  };
  EXPECT_EQ(name_of(0), "");
  EXPECT_EQ(name_of(1), "first");
  EXPECT_EQ(name_of(2), "first");
  EXPECT_EQ(name_of(3), "second");
  EXPECT_EQ(recording_.samples[1].stack, recording_.samples[2].stack);
  EXPECT_EQ(recording_.samples[3].stack, recording_.samples[4].stack);
  EXPECT_EQ(recording_.stacks.size(), 3u);
  EXPECT_EQ(recording_.frames.size(), 4u);
  for (const profile::Stack& stack : recording_.stacks) EXPECT_EQ(stack.frames[1], 1u);
}

TEST_F(JitFramesTest, LeavesCodeOfFilesAlone) {
  recording_.modules.emplace_back().path = "/usr/bin/app";
  for (profile::Frame& frame : recording_.frames) frame.module = 0;
  write("perf-4711.map", "1000 100 wrong\n");
  sample_at(5);
  EXPECT_FALSE(JitFrames(recording_, symfs_).find(0));
}

}  // namespace
}  // namespace swipr::commands
