// Cgroups as files in a folder of the test: limits, use and what can be reclaimed are written as
// the kernel writes them.
#include "preload/agent/proc/memory_room.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace swipr::agent {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr const char* kVersion1None = "9223372036854771712\n";

class MemoryRoomTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "swipr-cgroups-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    room_.close();
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  void write(const std::string& name, std::uint64_t number) {
    write(name, std::to_string(number) + "\n");
  }
  // Of version 2. No swap may be used, so that the machine's swap does not matter.
  void write_cgroup(const std::string& path, const std::string& limit, std::uint64_t usage,
                    const std::string& stat = "") {
    write(path + "/memory.max", limit + "\n");
    write(path + "/memory.current", usage);
    write(path + "/memory.stat", stat);
    write(path + "/memory.swap.max", std::uint64_t{0});
    write(path + "/memory.swap.current", std::uint64_t{0});
  }
  std::string mount_point(const std::string& name) const { return (folder_ / name).string(); }
  void open(const std::string& cgroups, const std::string& mounts) {
    write("cgroup", cgroups);
    write("mountinfo", "22 1 0:5 / /proc rw - proc proc rw\n" + mounts);
    room_.open((folder_ / "cgroup").c_str(), (folder_ / "mountinfo").c_str());
  }
  void open_version_2(const std::string& path, const std::string& root = "/") {
    open("0::" + path + "\n",
         "41 31 0:38 " + root + " " + mount_point("unified") + " rw shared:9 - cgroup2 none rw\n");
  }

  std::filesystem::path folder_;
  MemoryRoom room_;
};

TEST_F(MemoryRoomTest, WithoutALimitThereIsAlwaysRoom) {
  write_cgroup("unified/service", "max", 900 * kMiB);
  open_version_2("/service");
  EXPECT_FALSE(room_.is_limited());
  EXPECT_TRUE(room_.has(~std::uint64_t{0}));
}

TEST_F(MemoryRoomTest, WhatCannotBeReadHasNoLimit) {
  room_.open((folder_ / "none").c_str(), (folder_ / "none").c_str());
  EXPECT_FALSE(room_.is_limited());
  open("0::/service\n", "");
  EXPECT_FALSE(room_.is_limited());
  open("nonsense\n::\n5:memory\n", "nonsense\n41 31 0:38 / /x rw\n");
  EXPECT_FALSE(room_.is_limited());
  open_version_2("/not/there");
  EXPECT_FALSE(room_.is_limited());
}

TEST_F(MemoryRoomTest, IsWhatTheLimitLeaves) {
  write_cgroup("unified/service", std::to_string(100 * kMiB), 95 * kMiB);
  open_version_2("/service");
  EXPECT_TRUE(room_.is_limited());
  EXPECT_TRUE(room_.has(5 * kMiB));
  EXPECT_FALSE(room_.has(5 * kMiB + 1));
  write("unified/service/memory.current", 101 * kMiB);
  EXPECT_TRUE(room_.has(0));
  EXPECT_FALSE(room_.has(1));
}

TEST_F(MemoryRoomTest, AnyCgroupAroundItLimitsItToo) {
  write_cgroup("unified", std::to_string(80 * kMiB), 79 * kMiB);
  write_cgroup("unified/slice", "max", 79 * kMiB);
  write_cgroup("unified/slice/service", std::to_string(100 * kMiB), 10 * kMiB);
  open_version_2("/slice/service");
  EXPECT_TRUE(room_.has(kMiB));
  EXPECT_FALSE(room_.has(2 * kMiB));
}

TEST_F(MemoryRoomTest, PageCacheAndReclaimableSlabAreRoom) {
  write_cgroup("unified/service", std::to_string(100 * kMiB), 100 * kMiB,
               "anon 1\nfile 62914560\nslab_reclaimable 1048576\ninactive_anon 9\n"
               "inactive_file 10485760\nactive_file 4194304\n");
  open_version_2("/service");
  EXPECT_TRUE(room_.has(13 * kMiB));
  EXPECT_FALSE(room_.has(13 * kMiB + 1));
}

TEST_F(MemoryRoomTest, LimitsThatAreRaisedAreSeen) {
  write_cgroup("unified/service", std::to_string(100 * kMiB), 99 * kMiB);
  open_version_2("/service");
  EXPECT_FALSE(room_.has(2 * kMiB));
  write_cgroup("unified/service", std::to_string(200 * kMiB), 99 * kMiB);
  EXPECT_TRUE(room_.has(2 * kMiB));
}

TEST_F(MemoryRoomTest, AContainerSeesItsOwnCgroupAtTheMount) {
  write_cgroup("unified", std::to_string(100 * kMiB), 99 * kMiB);
  open_version_2("/");  // with a cgroup namespace
  EXPECT_FALSE(room_.has(2 * kMiB));
  EXPECT_TRUE(room_.has(kMiB));
  open_version_2("/docker/1234", "/docker/1234");  // without
  EXPECT_FALSE(room_.has(2 * kMiB));
  write_cgroup("unified/inner", std::to_string(50 * kMiB), 50 * kMiB);
  open_version_2("/docker/1234/inner", "/docker/1234");
  EXPECT_FALSE(room_.has(1));
  open_version_2("/docker/12345/inner", "/docker/1234");  // the name of another one begins with it
  EXPECT_TRUE(room_.has(1));
  open_version_2("/../elsewhere");
  EXPECT_TRUE(room_.has(kMiB));
}

TEST_F(MemoryRoomTest, Version1HasTotalsOfAllBelow) {
  const std::string cgroup = "memory/a/b/";
  write("memory/memory.limit_in_bytes", kVersion1None);
  write("memory/memory.usage_in_bytes", 900 * kMiB);
  write("memory/a/memory.limit_in_bytes", kVersion1None);
  write("memory/a/memory.usage_in_bytes", 900 * kMiB);
  write(cgroup + "memory.limit_in_bytes", 64 * kMiB);
  write(cgroup + "memory.usage_in_bytes", 64 * kMiB);
  write(cgroup + "memory.memsw.limit_in_bytes", 64 * kMiB);
  write(cgroup + "memory.memsw.usage_in_bytes", 64 * kMiB);
  write(cgroup + "memory.stat",
        "inactive_file 8388608\ntotal_inactive_file 3145728\ntotal_active_file 2097152\n");
  open("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n",
       "35 31 0:32 / " + mount_point("cpu") + " rw - cgroup cgroup rw,cpu\n36 31 0:33 / " +
           mount_point("memory") + " rw - cgroup cgroup rw,memory\n");
  EXPECT_TRUE(room_.is_limited());
  EXPECT_TRUE(room_.has(4 * kMiB));
  EXPECT_FALSE(room_.has(4 * kMiB + 1));
}

TEST_F(MemoryRoomTest, KeepsNothingOpen) {
  const auto open_count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  std::string path;
  for (int depth = 0; depth < 12; ++depth) {
    path += "/d";
    write_cgroup("unified" + path, std::to_string(100 * kMiB), 1);
  }
  const auto before = open_count();
  open_version_2(path);
  open_version_2(path);
  EXPECT_GT(open_count(), before);
  room_.close();
  EXPECT_EQ(open_count(), before);
}

}  // namespace
}  // namespace swipr::agent
