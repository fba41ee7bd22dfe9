#include "preload/agent/sample/languages/java_stacks.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/core/runtime_frame.h"

namespace swipr::agent {
namespace {

using runtimes::Token;
using runtimes::TokenKind;

constexpr std::uint64_t kCode = 0x7f00'0000'0000;

// Stacks whose tokens refer to nothing that is readable: their names are lost.
class JavaStacksTest : public testing::Test {
 protected:
  JavaStacksTest() {
    EXPECT_TRUE(memory_.open());
    snapshot_.language = Language::kJava;
    snapshot_.java.code = {kCode, kCode + 0x1000};
    frames_->frame_count = 0;
    frames_->flags = wire::kStackRootReached;
  }
  ~JavaStacksTest() override {
    functions_.release();
    memory_.close();
  }
  void add_frame(std::uint64_t pc) {
    const std::uint32_t at = frames_->frame_count++;
    frames_->pcs[at] = pc;
    frames_->stacks[at] = 0x1000 + at * 16;
    frames_->kinds[at] = 0;
  }
  // For the frame that was added last.
  Token token(TokenKind kind) const {
    const std::uint32_t last = frames_->frame_count - 1;
    return {.code = 8, .mark = frames_->stacks[last], .position = last, .kind = kind};
  }
  bool name_frames(const std::vector<Token>& first, const std::vector<Token>& second = {}) {
    NameSources sources{snapshot_, memory_, *names_, functions_, Moment(1)};
    return stacks_->name_frames(sources, first, second, *frames_);
  }
  std::vector<std::uint64_t> pcs() const {
    return {frames_->pcs.begin(), frames_->pcs.begin() + frames_->frame_count};
  }

  ProcMemory memory_;
  FunctionTable functions_;
  handler::RuntimeSnapshot snapshot_;
  std::unique_ptr<TokenNames> names_ = std::make_unique<TokenNames>();
  std::unique_ptr<JavaStacks> stacks_ = std::make_unique<JavaStacks>();
  std::unique_ptr<unwind::FrameBuffer> frames_ = std::make_unique<unwind::FrameBuffer>();
};
using Pcs = std::vector<std::uint64_t>;

TEST_F(JavaStacksTest, PutMethodsWhereTheirFramesAre) {
  std::vector<Token> tokens;
  add_frame(1);
  add_frame(kCode);
  tokens.push_back(token(TokenKind::kJava));
  add_frame(kCode + 1);
  tokens.push_back(token(TokenKind::kJavaStub));
  add_frame(2);
  add_frame(kCode + 2);
  tokens.push_back(token(TokenKind::kJavaCompiled));
  add_frame(3);
  name_frames(tokens);
  const std::uint64_t lost = runtime_frame_pc({.function = 1});
  EXPECT_EQ(pcs(), (Pcs{1, lost, 2, lost, 3}));
  EXPECT_TRUE(functions_.function(1).is_lost);
  EXPECT_EQ(functions_.function(1).language, Language::kJava);
  EXPECT_EQ(frames_->kinds[1], unwind::kExactFrame);  // interpreted
  EXPECT_EQ(frames_->kinds[3], unwind::kExactFrame + static_cast<int>(Execution::kCompiled));
  EXPECT_EQ(frames_->flags, wire::kStackRootReached);
}

// Code that has no frame yet has its caller's stack pointer where calls do not push the return
// address.
TEST_F(JavaStacksTest, FramesWithOneStackPointerHaveATokenEach) {
  add_frame(kCode);
  std::vector<Token> tokens = {token(TokenKind::kJavaStub)};
  add_frame(kCode + 1);
  frames_->stacks[1] = frames_->stacks[0];
  tokens.push_back(token(TokenKind::kJavaCompiled));
  add_frame(3);
  name_frames(tokens);
  EXPECT_EQ(pcs(), (Pcs{runtime_frame_pc({.function = 1}), 3}));
}

TEST_F(JavaStacksTest, KeepFramesThatHaveNoToken) {
  add_frame(kCode);
  const Token of_other = token(TokenKind::kJavaStub);
  add_frame(kCode + 1);
  std::vector<Token> tokens = {of_other};
  tokens[0].mark += 1;
  name_frames(tokens);
  EXPECT_EQ(pcs(), (Pcs{kCode, kCode + 1}));
}

TEST_F(JavaStacksTest, TellWhereTheCodeCacheHasGrown) {
  snapshot_.java.heaps[1].memory = {kCode + 0x100, kCode + 0x200};
  add_frame(1);
  add_frame(kCode + 0x1ff);
  EXPECT_FALSE(name_frames({}));
  add_frame(kCode + 0x200);
  EXPECT_FALSE(name_frames({token(TokenKind::kJavaStub)}));
  frames_->frame_count = 0;
  add_frame(kCode + 0x200);
  EXPECT_TRUE(name_frames({}));
}

TEST_F(JavaStacksTest, TakeTokensOfBothPartsOfAWalk) {
  add_frame(kCode);
  const Token inner = token(TokenKind::kJavaStub);
  add_frame(kCode + 1);
  const Token outer = token(TokenKind::kJavaStub);
  add_frame(9);
  name_frames({inner}, {outer});
  EXPECT_EQ(pcs(), Pcs{9});
}

TEST_F(JavaStacksTest, KeepThePlaceOfTheGap) {
  add_frame(kCode);
  const std::vector<Token> tokens = {token(TokenKind::kJavaStub)};
  add_frame(1);
  add_frame(2);
  frames_->flags = wire::kStackRootReached | wire::kStackCut;
  frames_->omitted_at = 2;
  name_frames(tokens);
  EXPECT_EQ(pcs(), (Pcs{1, 2}));
  EXPECT_EQ(frames_->omitted_at, 1u);
}

}  // namespace
}  // namespace swipr::agent
