#include "preload/agent/record/stream/function_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/core/runtime_frame.h"
#include "common/wire/decoder.h"
#include "common/wire/runtimes.h"
#include "preload/agent/record/stream/stream_writer.h"

namespace swipr::agent {
namespace {

using Numbers = std::vector<std::uint64_t>;

class FunctionStreamTest : public testing::Test {
 protected:
  FunctionStreamTest() {
    EXPECT_TRUE(stacks_.create());
    stream_.set_functions(functions_);
    for (const char* const name : {"one", "two", "three"}) {
      functions_.intern({.language = Language::kPython, .name = name, .file = "/srv/app.py"});
    }
  }
  ~FunctionStreamTest() override {
    stream_.release();
    functions_.release();
    stacks_.release();
  }
  // A native frame, then one of each function.
  const StoredStack& stack_of(const std::vector<std::uint32_t>& functions) {
    frames_->frame_count = 1;
    frames_->pcs[0] = 0x401000;
    for (const std::uint32_t function : functions) {
      frames_->pcs[frames_->frame_count++] = runtime_frame_pc({.function = function, .line = 9});
    }
    bool is_new = false;
    return stacks_.stack(stacks_.intern(*frames_, {}, is_new));
  }
  // Numbers of the FUNCTION records that are written.
  Numbers define(const StoredStack& stack) {
    out_.roll_back(0);
    stream_.define(out_, stack);
    EXPECT_FALSE(out_.overflowed());
    Numbers numbers;
    for (auto bytes = out_.bytes(); !bytes.empty();) {
      const auto record = wire::take_record(bytes);
      if (!record) break;
      const auto function = wire::decode_function(record->payload);
      EXPECT_TRUE(function.has_value());
      numbers.push_back(function ? function->function : 0);
    }
    return numbers;
  }

  StackTable stacks_;
  FunctionTable functions_;
  FunctionStream stream_;
  std::unique_ptr<unwind::FrameBuffer> frames_ = std::make_unique<unwind::FrameBuffer>();
  std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{1} << 20);
  wire::Encoder out_{buffer_};
};

TEST_F(FunctionStreamTest, DefinesEachFunctionOnce) {
  EXPECT_EQ(define(stack_of({1, 2, 1})), (Numbers{1, 2}));
  EXPECT_EQ(define(stack_of({2, 3})), Numbers{3});
  EXPECT_EQ(define(stack_of({1, 2, 3})), Numbers{});
  EXPECT_EQ(define(stack_of({})), Numbers{});
}

TEST_F(FunctionStreamTest, HasNoRecordOfAFunctionWithoutNumber) {
  EXPECT_EQ(define(stack_of({0, 1})), Numbers{1});
}

TEST_F(FunctionStreamTest, WritesWhatTheTableKnows) {
  const std::uint32_t number = functions_.intern({.language = Language::kPython,
                                                  .name = "Worker.run",
                                                  .file = "/srv/worker.py",
                                                  .start_line = 28,
                                                  .is_lost = true,
                                                  .is_collector = true});
  define(stack_of({number}));
  auto bytes = out_.bytes();
  const auto record = wire::take_record(bytes);
  ASSERT_TRUE(record.has_value());
  const auto function = wire::decode_function(record->payload);
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(function->name, "Worker.run");
  EXPECT_EQ(function->file, "/srv/worker.py");
  EXPECT_EQ(function->start_line, 28u);
  EXPECT_EQ(function->flags, wire::kFunctionNameLost | wire::kFunctionCollector);
}

TEST_F(FunctionStreamTest, WritesADefinitionAgainThatWasRolledBack) {
  const StoredStack& stack = stack_of({1, 2});
  define(stack);
  stream_.settle(stack, false);
  EXPECT_EQ(define(stack_of({2})), Numbers{2});
  EXPECT_EQ(define(stack), Numbers{1});
}

TEST_F(FunctionStreamTest, NeedsNoMoreBytesThanItSays) {
  const std::string name(300, 'n');
  const std::uint32_t large = functions_.intern({.language = static_cast<Language>(255),
                                                 .name = name,
                                                 .file = std::string(20'000, 'f'),
                                                 .start_line = ~std::uint32_t{0},
                                                 .is_lost = true});
  for (int number = 0; number < 3000; ++number) {
    functions_.intern({.language = Language::kPython, .name = std::to_string(number)});
  }
  for (const auto& functions :
       {std::vector<std::uint32_t>{1}, {2, large, 2}, {3000, 3001, 3002}, {}}) {
    const StoredStack& stack = stack_of(functions);
    const std::size_t said = stream_.definition_bytes(stack);
    define(stack);
    EXPECT_LE(out_.size(), said);
    EXPECT_EQ(stream_.definition_bytes(stack), 0u);
  }
}

// Functions of a stack that need more than a block, and more than the output has room for at once.
TEST_F(FunctionStreamTest, DefinesAheadWhatIsLargerThanABlock) {
  constexpr std::uint32_t kLarge = 100;
  OutputQueue output;
  ASSERT_TRUE(output.create(std::size_t{1} << 20));
  StreamWriter writer;
  ASSERT_TRUE(writer.create(output, 16));
  writer.set_functions(functions_);
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t count = 0; count < kLarge; ++count) {
    const std::string file = std::to_string(count) + std::string(16'000, 'f');
    numbers.push_back(functions_.intern({.language = Language::kPython, .file = file}));
  }
  stack_of(numbers);
  bool is_new = false;
  const std::uint32_t stack = writer.stacks().intern(*frames_, {}, is_new);
  const auto write = [&] {
    const bool written = writer.put([&](wire::Encoder& out) {
      writer.settle_definition(stack, false);
      writer.define(out, stack);
    });
    writer.settle_definition(stack, written);
    return written;
  };
  EXPECT_FALSE(write());
  EXPECT_FALSE(writer.define_ahead(stack));  // the output is full
  while (output.size() != 0) output.pop(output.front().size());
  EXPECT_TRUE(writer.define_ahead(stack));
  EXPECT_TRUE(write());
  EXPECT_EQ(writer.definition_bytes(stack), 0u);
  writer.release();
}

}  // namespace
}  // namespace swipr::agent
