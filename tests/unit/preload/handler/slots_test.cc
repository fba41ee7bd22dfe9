#include "preload/handler/slots.h"

#include <gtest/gtest.h>

#include <memory>

namespace swipr::handler {
namespace {

class SlotsTest : public testing::Test {
 protected:
  SlotsTest() { shared.slots = slots_.get(); }
  ~SlotsTest() override { forget_after_fork(); }

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlotCount);
};

TEST(Cookie, KeepsSlotAndSequence) {
  const Cookie cookie{.sequence = (std::uint64_t{1} << 48) - 1, .slot = kSlotCount - 1};
  EXPECT_EQ(unpack_cookie(pack(cookie)).sequence, cookie.sequence);
  EXPECT_EQ(unpack_cookie(pack(cookie)).slot, cookie.slot);
}

TEST_F(SlotsTest, AnArmedSlotIsClaimedOnce) {
  arm_slot(slots_[3], 7);
  EXPECT_EQ(try_claim({.sequence = 7, .slot = 3}), &slots_[3]);
  EXPECT_EQ(slot_status(slots_[3], 7), SlotStatus::kClaimed);
  EXPECT_EQ(try_claim({.sequence = 7, .slot = 3}), nullptr);
}

TEST_F(SlotsTest, ALateSignalFindsNothing) {
  arm_slot(slots_[3], 7);
  EXPECT_TRUE(try_cancel_slot(slots_[3], 7));
  EXPECT_EQ(try_claim({.sequence = 7, .slot = 3}), nullptr);
  arm_slot(slots_[3], 8);
  EXPECT_EQ(try_claim({.sequence = 7, .slot = 3}), nullptr);
  EXPECT_EQ(slot_status(slots_[3], 7), SlotStatus::kIdle);
  EXPECT_EQ(slot_status(slots_[3], 8), SlotStatus::kArmed);
}

TEST_F(SlotsTest, AClaimedSlotCannotBeCancelled) {
  arm_slot(slots_[0], 1);
  ASSERT_NE(try_claim({.sequence = 1, .slot = 0}), nullptr);
  EXPECT_FALSE(try_cancel_slot(slots_[0], 1));
}

TEST_F(SlotsTest, EachOpenSlotIsClaimedOnceForTheTimerThatAsks) {
  EXPECT_EQ(try_claim_open(7), nullptr) << "there are none";
  const auto open = std::make_unique<Slot[]>(kOpenSlotCount);
  shared.open_slots = open.get();
  EXPECT_EQ(try_claim_open(7), nullptr) << "none is open";
  shared.open = 1u << 2 | 1u << 5;
  EXPECT_EQ(try_claim_open(7), &open[2]);
  EXPECT_EQ(try_claim_open(8), &open[5]);
  EXPECT_EQ(open[2].timer_value, 7u);
  EXPECT_EQ(open[5].timer_value, 8u);
  EXPECT_EQ(try_claim_open(9), nullptr);
  fill_slot(open[2], {.sequence = kOpenSequence}, reinterpret_cast<std::uint64_t>(&open));
  EXPECT_EQ(slot_status(open[2], kOpenSequence), SlotStatus::kDone);
  EXPECT_EQ(try_claim_open(9), nullptr) << "its answer is not collected yet";
}

TEST_F(SlotsTest, ForgedCookiesAreRefused) {
  EXPECT_EQ(try_claim({.sequence = 0, .slot = 0}), nullptr);
  EXPECT_EQ(try_claim({.sequence = 1, .slot = kSlotCount}), nullptr);
  shared.slots = nullptr;
  EXPECT_EQ(try_claim({.sequence = 1, .slot = 0}), nullptr);
}

TEST_F(SlotsTest, WithoutACodeMapTheAnswerIsEmptyAndNothingStaysPinned) {
  arm_slot(slots_[1], 2);
  Slot* slot = try_claim({.sequence = 2, .slot = 1});
  ASSERT_NE(slot, nullptr);
  slot->frames.frame_count = 99;
  fill_slot(*slot, {.sequence = 2, .slot = 1}, reinterpret_cast<std::uint64_t>(&slot));
  EXPECT_EQ(slot_status(*slot, 2), SlotStatus::kDone);
  EXPECT_EQ(slot->frames.frame_count, 0u);
  EXPECT_TRUE(retired_maps_are_free());
}

}  // namespace
}  // namespace swipr::handler
