// Code that is mapped and unmapped for as long as a recording lasts.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "preload/agent/base/output_queue.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/record/recording.h"
#include "preload/unwind/base/architecture.h"
#include "tests/unit/preload/agent/engine/decoded_recording.h"

namespace swipr::agent {
namespace {

constexpr std::size_t kMappings = 8;
const std::size_t kPage = unwind::page_bytes();
const std::size_t kAreaBytes = 2 * kMappings * kPage;
constexpr std::string_view kName = "/memfd:swipr-churn-with-a-path-of-some-length";

// Executable mappings, one page each with a page between them, of a file that each call creates.
class Churn {
 public:
  Churn() : area_(map_memory(kAreaBytes)) {}
  ~Churn() { unmap_memory(area_, kAreaBytes); }

  void map() {
    const int file = ::memfd_create(kName.substr(7).data(), MFD_CLOEXEC);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(kPage)), 0);
    for (std::size_t at = 0; at < kMappings; ++at) {
      void* page = static_cast<std::byte*>(area_) + 2 * at * kPage;
      ASSERT_EQ(::mmap(page, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0), page);
    }
    ::close(file);
  }
  void unmap() {
    ASSERT_EQ(::mmap(area_, kAreaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              area_);
  }

 private:
  void* area_;
};

class ModuleChurn : public testing::Test {
 protected:
  ModuleChurn() {
    EXPECT_TRUE(memory_.open());
    EXPECT_TRUE(map_.refresh(memory_));
  }
  ~ModuleChurn() override {
    EXPECT_TRUE(map_.try_close());
    memory_.close();
  }

  void begin(std::size_t output_bytes) {
    const char* error = nullptr;
    ASSERT_TRUE(output_.create(output_bytes));
    ASSERT_TRUE(recording_.create({}, output_, monotonic_now(), &error)) << error;
    ASSERT_TRUE(recording_.write_beginning({}));
    recording_.begin_modules(map_);
  }
  // What the engine does at each change of the map.
  void follow() {
    ASSERT_TRUE(map_.refresh(memory_));
    recording_.sync_modules(map_, threads_);
    map_.forget_gone();
  }
  void drain() {
    while (!output_.front().empty()) {
      const auto front = output_.front();
      bytes_.insert(bytes_.end(), front.begin(), front.end());
      output_.pop(front.size());
    }
  }
  test::DecodedRecording end() {
    drain();
    recording_.write_end(wire::EndReason::kComplete, "", map_, threads_);
    drain();
    recording_.release();
    return test::decode_recording(bytes_);
  }

  ProcMemory memory_;
  ModuleMap map_;
  ThreadList threads_;
  OutputQueue output_;
  Recording recording_;
  std::vector<std::byte> bytes_;
  Churn churn_;
};

std::size_t count_churned(const test::DecodedRecording& recording, bool gone) {
  return static_cast<std::size_t>(
      std::count_if(recording.modules.begin(), recording.modules.end(), [gone](const auto& module) {
        return module.path.starts_with(kName) && module.gone == gone;
      }));
}

TEST_F(ModuleChurn, WhatIsKeptDoesNotGrowWithTheNumberOfMappingsThatEverWere) {
  constexpr std::size_t kRounds = 1500;
  begin(std::size_t{16} << 20);
  std::size_t most_at_first = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    churn_.map();
    follow();
    churn_.unmap();
    follow();
    if (round < 100) most_at_first = std::max(most_at_first, map_.kept_bytes());
    drain();
  }
  EXPECT_LE(map_.kept_bytes(), most_at_first);
  const test::DecodedRecording recording = end();
  EXPECT_FALSE(recording.damaged);
  EXPECT_EQ(count_churned(recording, true), kRounds * kMappings);
  EXPECT_EQ(count_churned(recording, false), 0u);
  std::set<std::uint64_t> ids;
  for (const auto& module : recording.modules) ids.insert(module.id);
  EXPECT_EQ(ids.size(), recording.modules.size());  // none is used twice
}

TEST_F(ModuleChurn, ImagesOfLibrariesThatComeAndGoAreForgotten) {
  begin(std::size_t{16} << 20);
  std::size_t most_at_first = 0;
  for (std::size_t round = 0; round < 500; ++round) {
    void* const library = ::dlopen(SWIPR_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    follow();
    ::dlclose(library);
    follow();
    if (round < 200) most_at_first = std::max(most_at_first, map_.kept_bytes());
    drain();
  }
  EXPECT_LE(map_.kept_bytes(), most_at_first);
  const test::DecodedRecording recording = end();
  const auto plugins = std::count_if(
      recording.modules.begin(), recording.modules.end(), [](const test::DecodedModule& module) {
        return module.path == SWIPR_TEST_PLUGIN && module.gone && module.build_id_bytes != 0;
      });
  EXPECT_EQ(plugins, 500);
}

// Modules that came and went while nothing could be written are not recorded; those that exist then
// are.
TEST_F(ModuleChurn, AStreamThatFellBehindCatchesUpWithWhatIsMapped) {
  begin(BlockWriter::kMaxBlockBytes + 4 * kPageBytes);
  drain();
  churn_.map();
  follow();
  for (std::size_t round = 0; round < 1500; ++round) {  // 1 MB of records, and no reader
    churn_.unmap();
    churn_.map();
    follow();
  }
  drain();
  follow();
  drain();
  churn_.unmap();
  churn_.map();
  follow();
  const test::DecodedRecording recording = end();
  EXPECT_FALSE(recording.damaged);
  EXPECT_EQ(count_churned(recording, false), kMappings);
  EXPECT_LT(count_churned(recording, true), std::size_t{1500} * kMappings);
}

}  // namespace
}  // namespace swipr::agent
