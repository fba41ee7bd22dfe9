#include "cli/live/history.h"

#include <gtest/gtest.h>

#include <string>

namespace swipr::live {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

HistoryRow row_at(std::uint32_t second, std::uint32_t node, std::uint64_t cpu_us = 1'000) {
  HistoryRow row;
  row.second = second;
  row.node = node;
  row.ticks = 1;
  row.cpu_us = cpu_us;
  row.wall_us = 10'000;
  row.bin = History::kNoBin;
  return row;
}

TEST(History, AddsUpEqualRowsUntilTheyAreCommitted) {
  History history;
  history.add(row_at(1, 7));
  history.add(row_at(1, 7));
  EXPECT_EQ(history.end_row(), 0u);
  history.commit(2 * kSecond);
  ASSERT_EQ(history.end_row(), 1u);
  EXPECT_EQ(history.row(0).cpu_us, 2'000u);
  EXPECT_EQ(history.row(0).ticks, 2u);
  history.add(row_at(1, 7));  // late: what was told does not change
  history.commit(2 * kSecond);
  ASSERT_EQ(history.end_row(), 2u);
  EXPECT_EQ(history.row(0).cpu_us, 2'000u);
  EXPECT_EQ(history.row(1).cpu_us, 1'000u);
}

TEST(History, KeepsRowsApartThatDifferInAnything) {
  History history;
  HistoryRow row = row_at(1, 1);
  history.add(row);
  row.bin = 3;
  history.add(row);
  row.state = profile::State::kBlocked;
  history.add(row);
  row.wait = 0;
  history.add(row);
  row.calls = 0;
  history.add(row);
  row.thread = 1;
  history.add(row);
  row.second = 2;
  history.add(row);
  history.commit(3 * kSecond);
  EXPECT_EQ(history.end_row(), 7u);
}

TEST(History, KeepsEachCallSetOnce) {
  History history;
  EXPECT_EQ(history.call_set({}), profile::kNone);
  EXPECT_EQ(history.call_set({{1, 640, false}, {0, 700, false}}), 0u);
  EXPECT_EQ(history.call_set({{1, 640, true}}), 1u);
  EXPECT_EQ(history.call_set({{1, 640, false}, {0, 700, false}}), 0u);
  EXPECT_EQ(history.call_sets().size(), 2u);
}

TEST(History, LeavesInnerCallsOutOfSetsThatExceedTheTable) {
  History history;
  EXPECT_EQ(history.call_set({{0, 5, false}}), 0u);
  for (std::uint32_t set = 1; set < History::kMaxCallSets; ++set) {
    history.call_set({{set, 0, false}});
  }
  EXPECT_EQ(history.call_set({{7, 8, false}, {0, 5, false}}), 0u);
  EXPECT_EQ(history.call_set({{0, 6, false}}), profile::kNone);
  EXPECT_EQ(history.call_sets().size(), History::kMaxCallSets);
}

TEST(History, KeepsSumsOfWhatItForgets) {
  History history;
  for (std::uint32_t second = 0; second < History::kSeconds + 100; ++second) {
    history.add(row_at(second, second % 2));
    history.commit((second + 1) * kSecond);
  }
  EXPECT_EQ(history.first_row(), 100u);
  EXPECT_EQ(history.row(history.first_row()).second, 100u);
  std::uint64_t cpu_us = 0;
  for (const HistoryRow& row : history.older()) cpu_us += row.cpu_us;
  EXPECT_EQ(history.older().size(), 2u);
  EXPECT_EQ(cpu_us, 100'000u);
  EXPECT_EQ(history.left_out(), 0u);
}

TEST(History, HasABoundForRows) {
  History history;
  std::uint32_t node = 0;
  for (std::size_t commit = 0; commit <= History::kMaxRows / History::kMaxRowsPerCommit; ++commit) {
    for (std::size_t row = 0; row < History::kMaxRowsPerCommit; ++row) {
      history.add(row_at(0, node++ % 50'000));
    }
    history.add(row_at(1, 60'000));  // one too many
    history.commit(kSecond);
  }
  EXPECT_EQ(history.end_row() - history.first_row(), History::kMaxRows);
  EXPECT_EQ(history.first_row(), History::kMaxRowsPerCommit);
  EXPECT_EQ(history.left_out(), History::kMaxRows / History::kMaxRowsPerCommit + 1);
}

TEST(History, FindsEntriesAgain) {
  History history;
  const std::uint32_t module = history.module("/bin/app", true);
  EXPECT_EQ(history.module("/bin/app", true), module);
  const std::uint32_t main = history.function({.name = "main", .module = module});
  EXPECT_EQ(history.function({.name = "main", .module = module}), main);
  EXPECT_NE(history.function({.name = "main"}), main);
  EXPECT_NE(history.function({.name = "main", .module = module, .file = "main.cc"}), main);
  const std::uint32_t root = history.child(profile::kNone, main);
  const std::uint32_t again = history.child(root, main);
  EXPECT_EQ(history.child(profile::kNone, main), root);
  EXPECT_EQ(history.child(root, main), again);
  EXPECT_EQ(history.nodes()[again].parent, root);
  const std::uint32_t wait = history.wait("mutex in f", 3);
  EXPECT_EQ(history.wait("mutex in f", 3), wait);
  EXPECT_NE(history.wait("mutex in f", 4), wait);
}

TEST(History, NotesChangesOfThreadNames) {
  History history;
  const std::uint32_t thread = history.thread(Pid{1}, Tid{2}, "app");
  const std::uint64_t before = history.name_changes();
  EXPECT_EQ(history.thread(Pid{1}, Tid{2}, "app"), thread);
  EXPECT_EQ(history.name_changes(), before);
  EXPECT_EQ(history.thread(Pid{1}, Tid{2}, "worker"), thread);
  EXPECT_GT(history.threads()[thread].named_at, before);
  EXPECT_EQ(history.threads()[thread].name, "worker");
}

TEST(History, HasBoundsForTables) {
  History history;
  for (std::size_t index = 0; index < History::kMaxThreads + 10; ++index) {
    history.thread(Pid{1}, Tid{static_cast<std::int32_t>(index + 1)}, "t");
  }
  EXPECT_EQ(history.threads().size(), History::kMaxThreads + 1);
  EXPECT_EQ(history.threads().back().name, "others");
  for (std::size_t index = 0; index < History::kMaxFunctions + 10; ++index) {
    history.function({.name = "f" + std::to_string(index)});
  }
  EXPECT_EQ(history.functions().size(), History::kMaxFunctions + 1);
  EXPECT_EQ(history.functions().back().name, "[other]");
  const std::uint32_t root = history.child(profile::kNone, 0);
  for (std::uint32_t index = 1; index < History::kMaxNodes; ++index) history.child(root, index);
  EXPECT_EQ(history.child(root, History::kMaxNodes), root);
  EXPECT_EQ(history.nodes().size(), History::kMaxNodes);
  for (std::uint32_t index = 0; index < History::kMaxWaits; ++index) history.wait("m", index);
  EXPECT_EQ(history.wait("m", History::kMaxWaits), profile::kNone);
}

}  // namespace
}  // namespace swipr::live
