#include "preload/agent/modules/module_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "preload/handler/slots.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {
namespace {

class ModuleMapTest : public testing::Test {
 protected:
  ModuleMapTest() {
    EXPECT_TRUE(memory_.open());
    EXPECT_TRUE(map_.refresh(memory_));
  }
  ~ModuleMapTest() override {
    EXPECT_TRUE(map_.try_close());
    memory_.close();
  }
  const unwind::CodeRange& range_of(std::uint64_t address) const {
    const unwind::CodeRange* const range = map_.code_map()->find(address);
    static const unwind::CodeRange none;
    EXPECT_NE(range, nullptr);
    return range != nullptr ? *range : none;
  }
  std::size_t unbuilt_count() const {
    const auto ranges = map_.code_map()->ranges();
    return static_cast<std::size_t>(std::count_if(
        ranges.begin(), ranges.end(),
        [](const unwind::CodeRange& range) { return range.table == &unwind::kUnbuiltTable; }));
  }

  static constexpr auto kLibc = &::getpid;
  const std::uint64_t in_libc_ = reinterpret_cast<std::uint64_t>(kLibc);
  const std::uint64_t in_program_ = reinterpret_cast<std::uint64_t>(&unwind::destroy_table);
  ProcMemory memory_;
  ModuleMap map_;
};

TEST_F(ModuleMapTest, BuildsTheTableThatIsAskedForAndNoOther) {
  const std::size_t before = unbuilt_count();
  EXPECT_GE(before, 3u) << "the program, libc, libstdc++";
  const unwind::CodeMap* const map = map_.code_map();
  EXPECT_TRUE(map_.build_table_at(in_libc_, memory_));
  EXPECT_EQ(map_.code_map(), map) << "walks that are under way go on in it";
  EXPECT_EQ(unbuilt_count(), before - 1);
  const unwind::CodeRange& libc = range_of(in_libc_);
  ASSERT_NE(libc.table, nullptr);
  EXPECT_NE(libc.table->find(in_libc_ - libc.load_bias), nullptr);
  EXPECT_FALSE(map_.build_table_at(in_libc_, memory_)) << "it is built";
  EXPECT_EQ(range_of(in_program_).table, &unwind::kUnbuiltTable);
}

TEST_F(ModuleMapTest, RangesOfALibraryAreItsPartsWithoutGaps) {
  const auto ranges = map_.code_map()->ranges();
  for (const Module& module : map_.modules()) {
    if (module.id == 0) continue;
    std::uint64_t next = module.start;
    for (const unwind::CodeRange& range : ranges) {
      if (range.start < module.start || range.start >= module.end) continue;
      EXPECT_EQ(range.start, next);
      next = range.end;
    }
    EXPECT_EQ(next, module.end) << map_.path_of(module);
  }
  const unwind::CodeRange& libc = range_of(in_libc_);
  EXPECT_LE(libc.end - libc.start, 0x20000u) << "a part of libc";
  const std::uint64_t behind = libc.end;
  ASSERT_TRUE(map_.build_table_at(in_libc_, memory_));
  EXPECT_EQ(range_of(behind).table, &unwind::kUnbuiltTable);
}

TEST_F(ModuleMapTest, WhereNoModuleIsNothingIsBuilt) {
  const std::size_t before = unbuilt_count();
  EXPECT_FALSE(map_.build_table_at(0, memory_));
  EXPECT_FALSE(map_.build_table_at(~std::uint64_t{0}, memory_));
  EXPECT_EQ(unbuilt_count(), before);
}

TEST_F(ModuleMapTest, ATableStaysForTheNextRecording) {
  ASSERT_TRUE(map_.build_table_at(in_libc_, memory_));
  const unwind::UnwindTable* const table = range_of(in_libc_).table;
  ASSERT_TRUE(map_.try_close());
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(range_of(in_libc_).table, &unwind::kUnbuiltTable);
  ASSERT_TRUE(map_.build_table_at(in_libc_, memory_));
  EXPECT_EQ(range_of(in_libc_).table, table);
}

// A refresh publishes another code map.
TEST_F(ModuleMapTest, ATableThatIsBuiltIsInLaterCodeMaps) {
  ASSERT_TRUE(map_.build_table_at(in_libc_, memory_));
  const unwind::UnwindTable* const table = range_of(in_libc_).table;
  void* const code =
      ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_NE(map_.code_map()->find(reinterpret_cast<std::uint64_t>(code)), nullptr);
  EXPECT_EQ(range_of(in_libc_).table, table);
  ::munmap(code, 4096);
}

TEST_F(ModuleMapTest, PublishesAgainWhatAHandlerKeptFromBeingClosed) {
  handler::shared.pins.fetch_add(1);
  EXPECT_FALSE(map_.try_close());
  EXPECT_EQ(handler::shared.code_map.load(), nullptr);
  EXPECT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(handler::shared.code_map.load(), map_.code_map());
  handler::shared.pins.fetch_sub(1);
}

}  // namespace
}  // namespace swipr::agent
