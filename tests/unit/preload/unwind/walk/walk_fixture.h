// Walks over made-up stacks, in code with one function for each kind of rule.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/loop/rule_cache.h"
#include "preload/unwind/walk/walk.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {

using Words = std::vector<std::uint64_t>;

inline constexpr std::uint64_t kStack = 0x7ffe00000000;
inline constexpr std::uint64_t kCode = CfiImage::kLoadBias + CfiImage::kText;  // with CFI
inline constexpr std::uint64_t kJit = 0x500000000000;                          // without
inline constexpr std::uint64_t kNowhere = 0x123456789a;

// Offsets from kCode of functions with these rules.
inline constexpr std::uint64_t kPlain = 0;     // CFA = rsp + 8
inline constexpr std::uint64_t kPushed = 64;   // CFA = rsp + 16, rbp saved at CFA - 16
inline constexpr std::uint64_t kFramed = 128;  // CFA = rbp + 16, rbp saved at CFA - 16
inline constexpr std::uint64_t kRoot = 192;    // return address undefined
inline constexpr std::uint64_t kSignal =
    256;  // signal frame: pc at rsp + 16, rsp at rsp + 8, rbp at rsp
inline constexpr std::uint64_t kInRegister = 320;  // return address in rdi, CFA = rsp
inline constexpr std::uint64_t kBased = 384;       // CFA = rbx + 16
inline constexpr std::uint64_t kSelf = 448;        // CFA = rsp: makes no progress
inline constexpr std::uint64_t kRealigned = 512;   // CFA = *(rbp - 8), rbp at rbp
inline constexpr std::uint64_t kDrap = 576;        // CFA = r10, rbp at rbp
inline constexpr std::uint64_t kGap = 640;
inline constexpr std::uint64_t kAlone = 1024;  // as kPlain, after a gap

class Walk : public testing::Test {
 protected:
  Walk() {
    CfiImage image;
    const std::size_t cie = image.add_cie();
    const std::size_t signal_cie = image.add_cie(CfiImage::initial(), {.augmentation = "zRS"});
    const auto add = [&](std::uint64_t offset, const Bytes& instructions) {
      image.add_fde(cie, CfiImage::kText + offset, 64, instructions);
    };
    add(kPlain, {});
    add(kPushed, {0x0e, 16, 0x86, 2});
    add(kFramed, {0x0c, 6, 16, 0x86, 2});
    add(kRoot, {0x07, 16});
    image.add_fde(signal_cie, CfiImage::kText + kSignal, 64,
                  {0x0f, 3, 0x77, 8, 0x06, 0x10, 16, 2, 0x77, 16, 0x10, 6, 2, 0x77, 0});
    add(kInRegister, {0x0e, 0, 0x09, 16, 5});
    add(kBased, {0x0c, 3, 16});
    add(kSelf, {0x0e, 0, 0x90, 0});
    add(kRealigned, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
    add(kDrap, {0x0c, 10, 0, 0x10, 6, 2, 0x76, 0});
    add(kAlone, {});
    built_ = image.build();
    EXPECT_EQ(built_.status, BuildStatus::kOk);
    ranges_ = {{kJit, kJit + 0x1000, 0, nullptr},
               {kCode, kCode + CfiImage::kTextBytes, built_.load_bias, built_.table}};
    registers_.values[kRsp] = kStack;
    registers_.known = 1u << kRsp | 1u << kPc | 1u << kRbp | 1u << kRbx;
  }
  ~Walk() override { destroy_table(built_.table); }

  // Words from kStack upwards.
  WalkEnd walk_stack(std::uint64_t pc, const Words& words) {
    stack_ = words;
    registers_.values[kPc] = pc;
    const StackReader reader{&read_word, this};
    const WalkEnd end = walk(CodeMap(ranges_), registers_, reader, *frames_);
    expect_same_with_cache(end, reader);
    return end;
  }
  static bool read_word(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
    const auto& self = *static_cast<const Walk*>(state);
    if (const auto code = self.code_words_.find(address); code != self.code_words_.end()) {
      out = code->second;
      return true;
    }
    if (address < kStack || (address - kStack) / 8 >= self.stack_.size()) return false;
    out = self.stack_[(address - kStack) / 8];
    return true;
  }
  // The first of these walks fills the cache, the second uses it.
  void expect_same_with_cache(WalkEnd end, StackReader reader) {
    const auto plain = std::make_unique<FrameBuffer>(*frames_);
    const auto cache = std::make_unique<RuleCache>();
    for (int repetition = 0; repetition < 2; ++repetition) {
      EXPECT_EQ(walk(CodeMap(ranges_, cache.get()), registers_, reader, *frames_), end);
      ASSERT_EQ(frames_->frame_count, plain->frame_count);
      EXPECT_EQ(frames_->flags, plain->flags);
      for (std::uint32_t at = 0; at < plain->frame_count; ++at) {
        ASSERT_EQ(frames_->pcs[at], plain->pcs[at]);
        ASSERT_EQ(frames_->kinds[at], plain->kinds[at]);
        ASSERT_EQ(frames_->stacks[at], plain->stacks[at]);
      }
    }
  }
  // Stack pointers of the frames, as numbers of words above kStack.
  Words stacks() const {
    Words words;
    for (std::uint32_t at = 0; at < frames_->frame_count; ++at) {
      words.push_back((frames_->stacks[at] - kStack) / 8);
    }
    return words;
  }
  Words pcs() const { return {frames_->pcs.begin(), frames_->pcs.begin() + frames_->frame_count}; }
  wire::FrameSource source(std::size_t index) const {
    return static_cast<wire::FrameSource>(frames_->kinds[index] & 3);
  }
  bool is_exact(std::size_t index) const { return (frames_->kinds[index] & 4) != 0; }

  BuildResult built_;
  std::vector<CodeRange> ranges_;
  Words stack_;
  std::map<std::uint64_t, std::uint64_t> code_words_;  // the code that can be read, by address
  Registers registers_;
  std::unique_ptr<FrameBuffer> frames_ = std::make_unique<FrameBuffer>();
};

}  // namespace swipr::unwind
