// Stacks, names and lines that are read from the memory of real programs of node, against what V8
// itself says of another run of the same program.
#include "tests/unit/preload/runtimes/v8/v8_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "preload/runtimes/splice.h"
#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_names.h"

namespace swipr::runtimes {
namespace {

using ScriptFrames = std::vector<ExpectedScriptFrame>;

constexpr const char* kScenes[] = {"classes",   "closures",  "anonymous",   "generators", "async",
                                   "recursion", "evaluated", "constructed", "wide",       "vm",
                                   "locals",    "module",    "esm"};

// As swipr names what V8 leaves without a name, and without files.
bool is_same_function(const ExpectedScriptFrame& seen, const ExpectedScriptFrame& told) {
  const std::string line = std::to_string(told.first_line);
  // A method whose name is computed, such as [Symbol.iterator], has it in its object only.
  const bool is_computed = told.name.starts_with('[');
  const bool is_eval = told.file.empty() && told.first_line != 0;
  const bool is_eval_function = is_eval && told.name == "eval";
  const bool is_named_by_place =
      (told.name.empty() || is_computed || is_eval_function) &&
      (seen.name == "(top level)" || seen.name.starts_with("(anonymous:" + line + ":"));
  return (seen.name == told.name || is_named_by_place) &&
         seen.file == (is_eval ? "<eval>" : told.file) && seen.first_line == told.first_line;
}

std::string text_of(const ExpectedScriptFrame& frame) {
  return frame.name + " (" + frame.file + ":" + std::to_string(frame.first_line) + ":" +
         std::to_string(frame.line) + ")";
}

std::string text_of(const ScriptFrames& frames) {
  std::string text;
  for (const ExpectedScriptFrame& frame : frames) text += text_of(frame) + "\n";
  return text;
}

class NodeScene {
 public:
  NodeScene(const std::string& node, std::vector<std::string> arguments)
      : process_(node, std::move(arguments)), reader_(process_.reader()) {
    if (!process_.is_ready()) return;
    found_ = process_.detect();
  }
  NodeProcess& process() { return process_; }
  const V8Detection& found() const { return found_; }
  const V8Runtime& v8() const { return found_.runtime; }
  bool is_ready() const { return found_.state == DetectionState::kFound; }
  ObjectPieces& reader() { return reader_; }
  TokenBuffer& tokens() { return *tokens_; }

  void walk(pid_t thread) {
    reader_.forget();
    native_ = process_.walk(thread);
    read_v8_tokens(v8(), reader_, *native_, {}, *tokens_);
  }
  // Until the main thread is in that function: before, it may wait for something else.
  void walk_main(std::string_view innermost = "block") {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
      walk(process_.pid());
      const ScriptFrames seen = frames();
      if (!seen.empty() && seen.front().name == innermost) return;
    } while (std::chrono::steady_clock::now() < deadline);
  }
  const unwind::FrameBuffer& native() const { return *native_; }

  // Without built-in functions that V8 does not show.
  ScriptFrames frames() {
    ScriptFrames frames;
    for (const Token& token : tokens_->tokens()) {
      std::uint32_t line = 0;
      if (!read_v8_function(v8(), reader_, token, *lines_, *text_) ||
          !read_v8_line(v8(), reader_, token, *lines_, line)) {
        frames.push_back({"[gone]", "", 0, 0});
        continue;
      }
      const std::string name(text_->name.view());
      if (name != "(built in)") {
        frames.push_back({name, std::string(text_->file.view()), text_->first_line, line});
      }
    }
    return frames;
  }
  std::uint64_t reads() const { return reader_.reads(); }

 private:
  NodeProcess process_;
  ObjectPieces reader_;
  V8Detection found_;
  std::unique_ptr<unwind::FrameBuffer> native_;
  std::unique_ptr<TokenBuffer> tokens_ = std::make_unique<TokenBuffer>();
  std::unique_ptr<V8LineCache> lines_ = std::make_unique<V8LineCache>();
  std::unique_ptr<FunctionText> text_ = std::make_unique<FunctionText>();
};

class NodeProcesses : public ::testing::TestWithParam<std::string> {
 protected:
  static void expect_same(const ScriptFrames& seen, const ScriptFrames& told, bool has_lines) {
    ASSERT_EQ(seen.size(), told.size()) << text_of(seen) << "told:\n" << text_of(told);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_TRUE(is_same_function(seen[i], told[i]))
          << text_of(seen[i]) << " told: " << text_of(told[i]);
      if (has_lines || seen[i].line != 0) {
        EXPECT_EQ(seen[i].line, told[i].line) << text_of(seen[i]);
      }
    }
  }
};

// A run that tells may have line ends that V8 has counted for it; one that does not has none.
TEST_P(NodeProcesses, HaveTheStacksThatV8Shows) {
  for (const char* const name : kScenes) {
    SCOPED_TRACE(name);
    NodeScene telling(GetParam(), {SWIPR_NODE_APP, name, "tell"});
    NodeScene silent(GetParam(), {SWIPR_NODE_APP, name});
    const ScriptFrames& told = telling.process().frames();
    ASSERT_TRUE(telling.is_ready() && silent.is_ready());
    ASSERT_GT(told.size(), 1u);
    for (NodeScene* const scene : {&telling, &silent}) {
      scene->walk_main();
      expect_same(scene->frames(), told, true);
    }
  }
}

TEST_P(NodeProcesses, HaveTheNamesOfCompiledCode) {
  for (const char* const name : {"classes", "closures", "generators", "recursion"}) {
    SCOPED_TRACE(name);
    NodeScene telling(GetParam(), {"--always-sparkplug", SWIPR_NODE_APP, name, "tell"});
    NodeScene silent(GetParam(), {"--always-sparkplug", SWIPR_NODE_APP, name});
    ASSERT_TRUE(silent.is_ready());
    silent.walk_main();
    expect_same(silent.frames(), telling.process().frames(), false);
  }
}

TEST_P(NodeProcesses, HaveTheStacksOfWorkers) {
  NodeScene telling(GetParam(), {SWIPR_NODE_APP, "worker", "tell"});
  NodeScene silent(GetParam(), {SWIPR_NODE_APP, "worker"});
  ASSERT_TRUE(silent.is_ready());
  const ScriptFrames& told = telling.process().frames();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::vector<ScriptFrames> found;
  // The main thread waits outside of JavaScript.
  do {
    found.clear();
    for (const pid_t thread : silent.process().threads()) {
      silent.walk(thread);
      if (silent.tokens().added() != 0) found.push_back(silent.frames());
    }
  } while ((found.size() != 1 || found[0].size() != told.size()) &&
           std::chrono::steady_clock::now() < deadline);
  ASSERT_EQ(found.size(), 1u);
  expect_same(found[0], told, true);
}

TEST_P(NodeProcesses, HaveTheFramesOfBuiltInModules) {
  NodeScene scene(GetParam(), {SWIPR_NODE_APP, "child"});
  ASSERT_TRUE(scene.is_ready());
  scene.walk_main("spawnSync");
  const ScriptFrames frames = scene.frames();
  std::vector<std::string> names;
  for (const ExpectedScriptFrame& frame : frames) names.push_back(frame.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"spawnSync", "execSync", "child"}));
  for (const ExpectedScriptFrame& frame : frames) {
    SCOPED_TRACE(text_of(frame));
    EXPECT_THAT(frame.file,
                ::testing::AnyOf(::testing::StartsWith("node:"), ::testing::StrEq(SWIPR_NODE_APP)));
    EXPECT_NE(frame.first_line, 0u);
  }
}

TEST_P(NodeProcesses, HaveOneNativeFrameForEachToken) {
  NodeScene scene(GetParam(), {SWIPR_NODE_APP, "anonymous"});
  ASSERT_TRUE(scene.is_ready());
  scene.walk_main();
  const unwind::FrameBuffer& native = scene.native();
  const auto spliced = std::make_unique<SplicedStack>();
  splice({.pcs = std::span(native.pcs).first(native.frame_count),
          .stacks = std::span(native.stacks).first(native.frame_count),
          .is_root_reached = true},
         {scene.tokens().tokens(), 0, true}, {}, *spliced);
  EXPECT_EQ(spliced->count, native.frame_count);
  EXPECT_FALSE(spliced->is_uneven);
  const auto is_token = [](const SplicedFrame& frame) { return frame.is_token; };
  EXPECT_EQ(std::ranges::count_if(spliced->view(), is_token), scene.tokens().added());
}

TEST_P(NodeProcesses, LoseATokenWithAnotherFingerprint) {
  NodeScene scene(GetParam(), {SWIPR_NODE_APP, "classes"});
  ASSERT_TRUE(scene.is_ready());
  scene.walk_main();
  const auto lines = std::make_unique<V8LineCache>();
  const auto text = std::make_unique<FunctionText>();
  ASSERT_GT(scene.tokens().added(), 5u);
  for (Token token : scene.tokens().tokens()) {
    std::uint32_t line = 0;
    Token moved = token;
    moved.code += 8;
    token.fingerprint ^= 1;
    for (const Token& other : {token, moved}) {
      EXPECT_FALSE(read_v8_function(scene.v8(), scene.reader(), other, *lines, *text));
      EXPECT_FALSE(read_v8_line(scene.v8(), scene.reader(), other, *lines, line));
    }
  }
}

TEST_P(NodeProcesses, TakeThePositionOfTheInterruptedThreadFromItsRegisters) {
  NodeScene scene(GetParam(), {SWIPR_NODE_APP, "closures"});
  ASSERT_TRUE(scene.is_ready());
  scene.walk_main();
  const Token token = scene.tokens().tokens().front();
  ASSERT_NE(token.position, kNoPosition);
  V8FrameReader reads(scene.v8(), scene.reader());
  std::uint64_t bytecode = 0;
  Token again;
  ASSERT_TRUE(scene.reader().read_value(at_v8_offset(token.mark, scene.v8().layout.frame_bytecode),
                                        bytecode));
  const auto at_start = static_cast<std::uint64_t>(scene.v8().layout.bytecode_data) - 1;
  ASSERT_TRUE(reads.read(token.mark, 0, {bytecode, at_start + 3}, again));
  EXPECT_EQ(again.position, 3u);
  ASSERT_TRUE(reads.read(token.mark, 0, {bytecode + 8, at_start + 3}, again));
  EXPECT_EQ(again.position, token.position);
  // Of a frame that is not made yet nothing is used.
  EXPECT_FALSE(reads.read(token.mark, token.mark - 8, {}, again));
}

// A process in which no constant has the name of one that is needed.
struct OtherConstants {
  unwind::ImageReader inner;
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    constexpr std::string_view kName = "v8dbg_class_Script__line_ends__";
    const unwind::ImageReader& inner = static_cast<OtherConstants*>(state)->inner;
    if (!inner.read(inner.state, address, out)) return false;
    std::string_view text(reinterpret_cast<const char*>(out.data()), out.size());
    const std::size_t at = text.find(kName);
    if (at != std::string_view::npos) out[at] = std::byte{'x'};
    return true;
  }
};

TEST_P(NodeProcesses, AreRefusedIfTheyLackAConstant) {
  NodeProcess process(GetParam(), {SWIPR_NODE_APP, "closures"});
  ASSERT_TRUE(process.is_ready());
  OtherConstants other{process.reader()};
  const V8Detection found = process.detect({&OtherConstants::read, &other});
  EXPECT_EQ(found.state, DetectionState::kRefused);
  EXPECT_TRUE(found.is_constant_missing);
  EXPECT_STREQ(found.reason, "v8dbg_class_Script__line_ends__");
}

// Without node the suite fails: nothing would have been tested.
INSTANTIATE_TEST_SUITE_P(Found, NodeProcesses, ::testing::ValuesIn(find_nodes()), name_of_node);

}  // namespace
}  // namespace swipr::runtimes
