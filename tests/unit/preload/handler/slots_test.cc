#include "preload/handler/slots.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

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

// If there is memory for copies, handlers copy.
class CopyingSlotsTest : public SlotsTest {
 protected:
  CopyingSlotsTest() {
    shared.stack_copies = copies_.data();
    shared.code_map = &no_code_;
  }

  // The answer of a thread whose stack pointer this is.
  const Slot& answer(std::uint64_t stack_pointer) {
    constexpr Cookie kCookie{.sequence = 2, .slot = 3};
    arm_slot(slots_[3], 2);
    Slot* const slot = try_claim(kCookie);
    slot->registers.values[unwind::kStackRegister] = stack_pointer;
    slot->registers.values[unwind::kPcRegister] = 0x1234;
    slot->registers.known = unwind::RegisterMask{1} << unwind::kStackRegister |
                            unwind::RegisterMask{1} << unwind::kPcRegister;
    fill_slot(*slot, kCookie, reinterpret_cast<std::uint64_t>(&slot));
    return *slot;
  }

  std::vector<std::uint64_t> copies_ =
      std::vector<std::uint64_t>(kStackCopiesBytes / sizeof(std::uint64_t));
  unwind::CodeMap no_code_{std::span<const unwind::CodeRange>{}};
};

TEST_F(CopyingSlotsTest, CopyInsteadOfWalking) {
  std::vector<std::uint64_t> stack(2 * kStackCopyWords);
  for (std::size_t at = 0; at < stack.size(); ++at) stack[at] = at;
  const std::size_t red_zone_words = unwind::kRedZoneBytes / sizeof(std::uint64_t);
  const Slot& slot = answer(reinterpret_cast<std::uint64_t>(stack.data() + red_zone_words));
  EXPECT_EQ(slot.end, unwind::WalkEnd::kUnbuilt);
  EXPECT_EQ(slot.frames.frame_count, 1u);
  EXPECT_EQ(slot.frames.pcs[0], 0x1234u);
  EXPECT_EQ(slot.frames.kinds[0], unwind::kExactFrame);
  EXPECT_EQ(slot.stopped.values, slot.registers.values);
  EXPECT_EQ(slot.copied_from, reinterpret_cast<std::uint64_t>(stack.data()));
  ASSERT_EQ(slot.copied_stack().size(), kStackCopyWords);
  EXPECT_TRUE(std::equal(slot.copied_stack().begin(), slot.copied_stack().end(), stack.begin()));
  EXPECT_EQ(slot.copied_stack().data(), copies_.data() + 3 * kStackCopyWords);
}

TEST_F(CopyingSlotsTest, CopyUpToTheEndOfWhatIsReadable) {
  constexpr std::size_t kReadable = 8192;
  const std::size_t page = unwind::page_bytes();
  auto* const pages = static_cast<std::byte*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + 3 * page, page), 0);
  const auto stack = reinterpret_cast<std::uint64_t>(pages + 3 * page - kReadable);
  errno = 77;
  const Slot& slot = answer(stack);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(slot.copied_from, stack - unwind::kRedZoneBytes);
  EXPECT_EQ(slot.copied_stack().size_bytes(), kReadable + unwind::kRedZoneBytes);
  ::munmap(pages, 3 * page);
}

TEST_F(CopyingSlotsTest, CopyNothingFromNowhere) {
  EXPECT_TRUE(answer(0x1000).copied_stack().empty());
}

}  // namespace
}  // namespace swipr::handler
