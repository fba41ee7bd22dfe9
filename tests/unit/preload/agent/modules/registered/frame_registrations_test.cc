#include "preload/agent/modules/registered/frame_registrations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace swipr::agent::frame_registrations {
namespace {

const void* address(std::uint64_t value) { return reinterpret_cast<const void*>(value); }

std::vector<std::uint64_t> present() {
  std::vector<std::uint64_t> tables;
  for (const auto& entry : entries()) {
    if (table_at(entry) != 0) tables.push_back(table_at(entry));
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

TEST(FrameRegistrations, ComeAndGoAndCount) {
  const std::uint32_t changes = change_count();
  const std::uint32_t removals = removal_count;
  add(address(0x7f0000001000), true);
  add(address(0x7f0000002004), false);
  EXPECT_EQ(present(), (std::vector<std::uint64_t>{0x7f0000001000, 0x7f0000002004}));
  EXPECT_EQ(change_count(), changes + 2);
  EXPECT_EQ(removal_count, removals);
  EXPECT_TRUE(remove(address(0x7f0000001000)));
  EXPECT_FALSE(remove(address(0x7f0000002004)));  // no other unwinder has it
  EXPECT_EQ(change_count(), changes + 4);
  EXPECT_EQ(removal_count, removals + 2);
  EXPECT_TRUE(present().empty());
}

TEST(FrameRegistrations, OneThatIsUnknownIsForOthersToJudge) {
  const std::uint32_t changes = change_count();
  EXPECT_TRUE(remove(address(0x1234)));
  EXPECT_EQ(change_count(), changes);
}

TEST(FrameRegistrations, ThreadsDoNotLoseEachOthers) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 5000;
  const auto table = [](std::uint64_t thread, std::uint64_t at) {
    return address(0x7f0000000000 + (thread * kEach + at) * 4096);
  };
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([=] {
      for (std::uint64_t at = 0; at < kEach; ++at) {
        add(table(thread, at), true);
        if (at % 2 == 1) remove(table(thread, at));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(left_out_count(), 0u);
  EXPECT_EQ(present().size(), kThreads * kEach / 2);
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    for (std::uint64_t at = 0; at < kEach; at += 2) remove(table(thread, at));
  }
  EXPECT_TRUE(present().empty());
}

TEST(FrameRegistrations, WhatFindsNoPlaceIsCounted) {
  const std::uint32_t before = left_out_count();
  for (int time = 0; time < 65; ++time) add(address(0x7f0000001000), true);
  EXPECT_EQ(left_out_count(), before + 1);
  for (int time = 0; time < 64; ++time) remove(address(0x7f0000001000));
  EXPECT_TRUE(present().empty());
}

}  // namespace
}  // namespace swipr::agent::frame_registrations
