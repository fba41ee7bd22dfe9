// Generated code that the process itself registers in one of two ways.
#include "preload/agent/modules/registered/registered_code.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "preload/agent/modules/module_map.h"
#include "preload/agent/modules/registered/frame_registrations.h"
#include "preload/unwind/table/unwind_table.h"
#include "tests/targets/stacks/jit_debug_object.h"
#include "tests/unit/preload/agent/engine/control_loop.h"

extern "C" {
[[gnu::visibility("default")]] extern generated_code::JitDescriptor __jit_debug_descriptor;
generated_code::JitDescriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace swipr::agent {
namespace {

namespace code = generated_code;

std::uint64_t address(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

// Offset of the CFA after the first instructions by the CFI that a walk would use; 0: none.
struct Believed {
  int cfa = 0;
  bool contradicted = false;
};

class RegisteredCodeTest : public testing::Test {
 protected:
  RegisteredCodeTest() {
    EXPECT_TRUE(memory_.open());
    generate(code::Frame::kSmall);
  }
  ~RegisteredCodeTest() override {
    __jit_debug_descriptor = {1, 0, nullptr, nullptr};
    EXPECT_TRUE(map_.try_close());
    munmap(page_, 4096);
    memory_.close();
  }

  void generate(code::Frame frame) { code::generate(page_, frame); }
  // Puts entries at the head of the list.
  void announce(code::JitEntry& entry, const code::JitObject& object,
                std::uint64_t bytes = sizeof(code::JitObject)) {
    entry = {__jit_debug_descriptor.first, nullptr, &object, bytes};
    if (entry.next != nullptr) entry.next->previous = &entry;
    __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &entry;
  }
  void announce() {
    code::describe(object_, *page_, "generated", ET_EXEC);
    announce(entry_, object_);
  }

  Believed believed() {
    const unwind::CodeMap* const map = map_.code_map();
    const std::uint64_t pc = address(page_->code) + 10;
    const unwind::CodeRange* const range = map->find(pc);
    if (range == nullptr) return {};
    const unwind::UnwindTable* const table = map->table_of(*range);
    const unwind::Rule* const rule =
        table == nullptr ? nullptr : table->find(pc - range->load_bias);
    unwind::ChecksumVerifier verifier;
    StackPieces reader(memory_);
    if (!verifier.is_unchanged(map->checksums(), pc, reader)) return {.contradicted = true};
    return {.cfa = rule == nullptr ? 0 : rule->cfa_offset};
  }
  int believed_cfa() { return believed().cfa; }

  ProcMemory memory_;
  ModuleMap map_;
  code::Page* page_ = code::map_page();
  code::JitObject object_{};
  code::JitEntry entry_{};
};

constexpr int kSmallCfa = 16 + 32;
constexpr int kLargeCfa = 16 + 96;

TEST_F(RegisteredCodeTest, ProgramsThatRegisterNothingHaveNothingToBuild) {
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), 0);
  EXPECT_FALSE(map_.is_outdated(memory_, monotonic_now()));
  const unwind::CodeMap* const published = map_.code_map();
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(map_.code_map(), published);
}

// What a walk uses between the withdrawal and the next reading, not the result of the reading.
TEST_F(RegisteredCodeTest, ATableIsNotBelievedFromItsWithdrawalOn) {
  frame_registrations::add(&page_->frames, false);
  ASSERT_TRUE(map_.refresh(memory_));
  ASSERT_EQ(believed_cfa(), kSmallCfa);
  frame_registrations::remove(&page_->frames);
  EXPECT_EQ(believed_cfa(), 0);
  generate(code::Frame::kLarge);
  frame_registrations::add(&page_->frames, false);
  EXPECT_EQ(believed_cfa(), 0);
  EXPECT_TRUE(map_.is_outdated(memory_, monotonic_now()));
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), kLargeCfa);
  frame_registrations::remove(&page_->frames);
}

TEST_F(RegisteredCodeTest, TheJitInterfaceIsFoundByItsName) {
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_FALSE(map_.is_outdated(memory_, monotonic_now()));
  for (const unsigned type : {unsigned{ET_EXEC}, unsigned{ET_REL}}) {
    code::describe(object_, *page_, "generated", type);
    announce(entry_, object_);
    EXPECT_TRUE(map_.is_outdated(memory_, monotonic_now()));
    ASSERT_TRUE(map_.refresh(memory_));
    EXPECT_EQ(believed_cfa(), kSmallCfa) << type;
    EXPECT_FALSE(map_.is_outdated(memory_, monotonic_now()));
    __jit_debug_descriptor.first = nullptr;
    EXPECT_TRUE(map_.is_outdated(memory_, monotonic_now()));
    ASSERT_TRUE(map_.refresh(memory_));
    EXPECT_EQ(believed_cfa(), 0);
  }
}

TEST_F(RegisteredCodeTest, DebugFrameServesWhereThereIsNothingElse) {
  announce();
  std::strcpy(object_.section_names + 7, ".debug_frame");  // over the names of later sections
  code::CallFrames& frames = object_.frames;
  frames.cie_id = UINT32_MAX;
  frames.to_cie = 0;
  // Without letters it has neither lengths nor encodings: the code follows at once.
  std::memcpy(frames.cie, code::kPlainCie, sizeof code::kPlainCie);
  constexpr std::size_t kProgram = offsetof(code::CallFrames, push);
  std::memmove(&frames.augmentation_bytes, frames.push, offsetof(code::CallFrames, end) - kProgram);
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), kSmallCfa);
}

// The list does not change: one entry, one object, other bytes.
TEST_F(RegisteredCodeTest, OtherCodeInTheSamePlaceIsNotBelievedAndAsksForAnotherLook) {
  announce();
  ASSERT_TRUE(map_.refresh(memory_));
  ASSERT_EQ(believed_cfa(), kSmallCfa);
  generate(code::Frame::kLarge);
  code::describe(object_, *page_, "generated", ET_EXEC);
  EXPECT_FALSE(map_.is_outdated(memory_, monotonic_now()));
  EXPECT_TRUE(believed().contradicted);
  EXPECT_TRUE(map_.is_outdated(memory_, monotonic_now()));
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), kLargeCfa);
  EXPECT_FALSE(map_.is_outdated(memory_, monotonic_now()));
}

// One place, one entry and one object; the replacement begins anywhere in the reading.
TEST_F(RegisteredCodeTest, CodeThatIsReplacedWhileItIsReadIsNotBelieved) {
  announce();
  for (int round = 1; round <= 500; ++round) {
    const bool is_large = round % 2 != 0;
    __jit_debug_descriptor.action ^= 1;
    std::atomic<bool> is_reading{false};
    std::thread replacing([&] {
      while (!is_reading) {
      }
      for (int wait = round % 500 * 20; wait != 0 && is_reading; --wait) {
      }
      __jit_debug_descriptor.first = nullptr;
      generate(is_large ? code::Frame::kLarge : code::Frame::kSmall);
      announce();
    });
    is_reading = true;
    ASSERT_TRUE(map_.refresh(memory_));
    replacing.join();
    const Believed found = believed();
    if (found.contradicted || found.cfa == 0) continue;
    ASSERT_EQ(found.cfa, is_large ? kLargeCfa : kSmallCfa) << round;
  }
}

TEST_F(RegisteredCodeTest, WhatIsRegisteredBothWaysIsReadOnce) {
  code::describe(object_, *page_, "generated", ET_REL);
  announce(entry_, object_);
  frame_registrations::add(&page_->frames, false);
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), kSmallCfa);
  EXPECT_TRUE(map_.code_map()->checksums().sorted.empty());
  frame_registrations::remove(&page_->frames);
}

// --- names

constexpr auto kTick = std::chrono::milliseconds(5);

// Each step waits for the one before: how often lists are read depends on what a reading costs.
TEST_F(RegisteredCodeTest, RecordingsTellTheNamesAndWhenTheyNoLongerHold) {
  announce();
  code::JitObject late_object;
  code::JitEntry late{};
  test::Hooks hooks;
  hooks.is_enough = [&](const test::DecodedRecording& so_far) {
    if (so_far.code.contains("generated") && late.object == nullptr) {
      code::describe(late_object, *page_, "late", ET_REL);
      announce(late, late_object);
    }
    if (so_far.code.contains("late")) __jit_debug_descriptor.first = late.next;
    return !so_far.code_gone.empty();
  };
  const auto recording =
      test::record_one({.interval = kTick, .duration = std::chrono::minutes(1)}, hooks);
  EXPECT_FALSE(recording.damaged);
  ASSERT_TRUE(recording.code.contains("generated"));
  const wire::CodeRecord& early = recording.code.at("generated");
  EXPECT_EQ(early.start, address(page_->code));
  EXPECT_EQ(early.size_bytes, page_->frames.code_bytes);
  EXPECT_EQ(early.valid_from_ns, 0u);  // since before the recording
  ASSERT_TRUE(recording.code.contains("late"));
  const wire::CodeRecord& second = recording.code.at("late");
  EXPECT_EQ(second.start, address(page_->code));
  EXPECT_GT(second.valid_from_ns, 0u);
  ASSERT_EQ(recording.code_gone.size(), 1u);
  EXPECT_EQ(recording.code_gone[0].object, second.object);
  EXPECT_GT(recording.code_gone[0].valid_until_ns, second.valid_from_ns);
}

// More functions than one tick writes, and each of them once.
TEST_F(RegisteredCodeTest, ALargeObjectIsToldTickByTick) {
  constexpr std::size_t kFunctions = 10000;
  code::describe(object_, *page_, "generated", ET_EXEC);
  std::vector<Elf64_Sym> symbols(kFunctions, object_.symbols[1]);
  std::string names(1, '\0');
  for (std::size_t at = 0; at < kFunctions; ++at) {
    symbols[at].st_name = static_cast<Elf64_Word>(names.size());
    names += "function" + std::to_string(at) + '\0';
  }
  const std::size_t symbol_bytes = symbols.size() * sizeof symbols[0];
  object_.sections[code::kSymbols].sh_offset = sizeof object_;
  object_.sections[code::kSymbols].sh_size = symbol_bytes;
  object_.sections[code::kNames].sh_offset = sizeof object_ + symbol_bytes;
  object_.sections[code::kNames].sh_size = names.size();
  std::vector<std::byte> whole(sizeof object_ + symbol_bytes + names.size());
  std::memcpy(whole.data(), &object_, sizeof object_);
  std::memcpy(whole.data() + sizeof object_, symbols.data(), symbol_bytes);
  std::memcpy(whole.data() + sizeof object_ + symbol_bytes, names.data(), names.size());
  announce(entry_, *reinterpret_cast<const code::JitObject*>(whole.data()), whole.size());
  const auto recording = test::record_one({.interval = kTick, .ticks = 20});
  EXPECT_FALSE(recording.damaged);
  EXPECT_EQ(recording.code.size(), kFunctions);
}

// --- hostile lists

TEST_F(RegisteredCodeTest, AListThatIsACircleEnds) {
  announce();
  code::JitEntry second{};
  announce(second, object_);
  entry_.next = &second;
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(map_.code_map()->checksums().sorted.size(), 2u);
  entry_.next = &entry_;
  __jit_debug_descriptor.relevant = &entry_;
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(map_.code_map()->checksums().sorted.size(), 2u);
}

TEST_F(RegisteredCodeTest, AListHasABound) {
  code::describe(object_, *page_, "generated", ET_EXEC);
  std::vector<code::JitEntry> entries(JitInterface::kMaxEntries + 10);
  for (code::JitEntry& entry : entries) announce(entry, object_);
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(map_.code_map()->checksums().sorted.size(), JitInterface::kMaxEntries);
  EXPECT_TRUE(map_.jit_interface().left_out());
  __jit_debug_descriptor.first = &entries[JitInterface::kMaxEntries - 1];
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(map_.code_map()->checksums().sorted.size(), JitInterface::kMaxEntries);
  EXPECT_FALSE(map_.jit_interface().left_out());
}

TEST_F(RegisteredCodeTest, WhatCannotBeReadIsLeftOutAndTheRestStays) {
  announce();
  void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  code::JitEntry entries[4] = {};
  announce(entries[0], *static_cast<const code::JitObject*>(nowhere));
  announce(entries[1], object_, UINT64_MAX);              // ends after the address space
  announce(entries[2], object_, sizeof(Elf64_Ehdr) - 1);  // cut off
  announce(entries[3], object_, offsetof(code::JitObject, symbols));  // likewise
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), kSmallCfa);
  EXPECT_EQ(map_.code_map()->checksums().sorted.size(), 1u);
  entries[0].next = static_cast<code::JitEntry*>(nowhere);
  __jit_debug_descriptor.relevant = nullptr;
  ASSERT_TRUE(map_.refresh(memory_));
  EXPECT_EQ(believed_cfa(), 0);
  __jit_debug_descriptor.first = static_cast<code::JitEntry*>(nowhere);
  ASSERT_TRUE(map_.refresh(memory_));
  munmap(nowhere, 4096);
}

TEST_F(RegisteredCodeTest, HostileObjectsHaveNoCfi) {
  const auto expect_none = [this](const char* what, auto&& spoil) {
    announce();
    spoil(object_);
    __jit_debug_descriptor.first = &entry_;
    entry_.next = nullptr;
    __jit_debug_descriptor.action ^= 1;
    ASSERT_TRUE(map_.refresh(memory_));
    EXPECT_TRUE(map_.code_map()->checksums().sorted.empty()) << what;
  };
  using Object = code::JitObject;
  expect_none("magic", [](Object& o) { o.header.e_ident[0] = 0; });
  expect_none("machine", [](Object& o) { o.header.e_machine = code::kOtherElfMachine; });
  expect_none("section size", [](Object& o) { o.header.e_shentsize = 40; });
  expect_none("sections", [](Object& o) { o.header.e_shoff = UINT64_MAX - 8; });
  expect_none("names", [](Object& o) { o.header.e_shstrndx = 0xffff; });
  expect_none("cfi offset", [](Object& o) { o.sections[code::kEhFrame].sh_offset = UINT64_MAX; });
  expect_none("cfi size", [](Object& o) { o.sections[code::kEhFrame].sh_size = UINT64_MAX; });
  expect_none("cfi bytes", [](Object& o) { o.frames.cie_bytes = 0xfffffff0; });
  expect_none("symbols", [](Object& o) { o.sections[code::kSymbols].sh_size = UINT64_MAX; });
  expect_none("link", [](Object& o) { o.sections[code::kNames].sh_offset = UINT64_MAX - 4; });
}

}  // namespace
}  // namespace swipr::agent
