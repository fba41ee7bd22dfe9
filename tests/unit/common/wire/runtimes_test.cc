// Records about language runtimes, and frames of runtimes in stacks.
#include "common/wire/runtimes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/decoder.h"
#include "common/wire/encoder.h"

namespace swipr::wire {
namespace {

class RuntimeRecords : public testing::Test {
 protected:
  std::span<const std::byte> payload(RecordType type) {
    std::span<const std::byte> bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value() && bytes.empty());
    EXPECT_EQ(record.value_or(RawRecord{}).type, static_cast<std::uint8_t>(type));
    return record.value_or(RawRecord{}).payload;
  }
  // The FUNCTION record with these fields, written by hand.
  std::optional<FunctionRecord> function_of(std::uint64_t number, std::uint64_t language) {
    out_.roll_back(0);
    out_.put_varint(number);
    out_.put_varint(language);
    for (int field = 0; field < 4; ++field) out_.put_varint(0);
    return decode_function(out_.bytes());
  }
  std::optional<RuntimeRecord> runtime_of(std::uint64_t language, std::uint64_t state) {
    out_.roll_back(0);
    out_.put_varint(language);
    out_.put_string("1.0");
    out_.put_varint(state);
    out_.put_string("");
    out_.put_varint(0);
    return decode_runtime(out_.bytes());
  }

  std::array<std::byte, 256> buffer_{};
  Encoder out_{buffer_};
};

TEST_F(RuntimeRecords, KeepAFunction) {
  encode(out_, FunctionRecord{.function = kMaxRuntimeFunction,
                              .language = Language::kPython,
                              .name = "Worker.run",
                              .file = "/srv/app.py",
                              .start_line = 28,
                              .flags = kFunctionNameLost});
  const auto function = decode_function(payload(RecordType::kFunction));
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(function->function, kMaxRuntimeFunction);
  EXPECT_EQ(function->language, Language::kPython);
  EXPECT_EQ(function->name, "Worker.run");
  EXPECT_EQ(function->file, "/srv/app.py");
  EXPECT_EQ(function->start_line, 28u);
  EXPECT_EQ(function->flags, kFunctionNameLost);
}

TEST_F(RuntimeRecords, RefuseFunctionsThatNoFrameCanName) {
  EXPECT_TRUE(function_of(1, 1).has_value());
  EXPECT_FALSE(function_of(0, 1).has_value());
  EXPECT_FALSE(function_of(kMaxRuntimeFunction + 1, 1).has_value());
}

TEST_F(RuntimeRecords, RefuseLanguagesThatAreNone) {
  EXPECT_TRUE(function_of(1, 255).has_value());  // of a later version
  EXPECT_FALSE(function_of(1, 0).has_value());   // native
  EXPECT_FALSE(function_of(1, 256).has_value());
  EXPECT_TRUE(runtime_of(255, 0).has_value());
  EXPECT_FALSE(runtime_of(0, 0).has_value());
  EXPECT_FALSE(runtime_of(257, 0).has_value());
}

TEST_F(RuntimeRecords, KeepARuntime) {
  encode(out_, RuntimeRecord{.language = Language::kPython,
                             .version = "3.13.1",
                             .state = RuntimeState::kRefused,
                             .reason = "free-threaded build",
                             .module_id = 7});
  const auto runtime = decode_runtime(payload(RecordType::kRuntime));
  ASSERT_TRUE(runtime.has_value());
  EXPECT_EQ(runtime->language, Language::kPython);
  EXPECT_EQ(runtime->version, "3.13.1");
  EXPECT_EQ(runtime->state, RuntimeState::kRefused);
  EXPECT_EQ(runtime->reason, "free-threaded build");
  EXPECT_EQ(runtime->module_id, 7u);
}

TEST_F(RuntimeRecords, TakeUnknownStatesForARefusal) {
  EXPECT_EQ(runtime_of(1, 0).value_or(RuntimeRecord{.state = RuntimeState::kRefused}).state,
            RuntimeState::kRead);
  EXPECT_EQ(runtime_of(1, 2).value_or(RuntimeRecord{}).state, RuntimeState::kRefused);
}

TEST_F(RuntimeRecords, RefuseToEndInTheMiddle) {
  encode(out_, FunctionRecord{.function = 300, .language = Language::kPython, .name = "f"});
  const auto function = payload(RecordType::kFunction);
  for (std::size_t size = 0; size < function.size(); ++size) {
    EXPECT_FALSE(decode_function(function.first(size)).has_value()) << size;
  }
  out_.roll_back(0);
  encode(out_, RuntimeRecord{.language = Language::kPython, .version = "3.8"});
  const auto runtime = payload(RecordType::kRuntime);
  for (std::size_t size = 0; size < runtime.size(); ++size) {
    EXPECT_FALSE(decode_runtime(runtime.first(size)).has_value()) << size;
  }
}

TEST_F(RuntimeRecords, IgnoreFieldsOfLaterVersions) {
  EXPECT_TRUE(function_of(1, 1).has_value());
  out_.put_string("a field of a later version");
  EXPECT_TRUE(decode_function(out_.bytes()).has_value());
  EXPECT_TRUE(runtime_of(1, 0).has_value());
  out_.put_string("a field of a later version");
  EXPECT_TRUE(decode_runtime(out_.bytes()).has_value());
}

TEST_F(RuntimeRecords, KeepTheWaitForARuntime) {
  const std::array<FrameEntry, 1> frames = {{{0x1000, FrameSource::kContext, true}}};
  encode(out_,
         StackRecord{.stack_id = 1,
                     .runtime_wait = RuntimeWait::kMonitor,
                     .holder_tid = 4711,
                     .wait_object = "java.util.Vector"},
         frames);
  std::array<FrameEntry, kMaxFrames> decoded;
  const auto stack = decode_stack(payload(RecordType::kStack), decoded);
  ASSERT_TRUE(stack.has_value());
  EXPECT_EQ(stack->runtime_wait, RuntimeWait::kMonitor);
  EXPECT_EQ(stack->holder_tid, 4711u);
  EXPECT_EQ(stack->wait_object, "java.util.Vector");
  EXPECT_EQ(stack->wait_channel, "");
  EXPECT_EQ(stack->lock, std::nullopt);
}

TEST_F(RuntimeRecords, KeepTheLockOfAStack) {
  const std::array<FrameEntry, 1> frames = {{{0x1000, FrameSource::kContext, true}}};
  encode(out_,
         StackRecord{.stack_id = 1,
                     .runtime_wait = RuntimeWait::kRwlock,
                     .holder_tid = 4711,
                     .lock = 0x7f12'a450'1140},
         frames);
  std::array<FrameEntry, kMaxFrames> decoded;
  const auto stack = decode_stack(payload(RecordType::kStack), decoded);
  ASSERT_TRUE(stack.has_value());
  EXPECT_EQ(stack->runtime_wait, RuntimeWait::kRwlock);
  EXPECT_EQ(stack->holder_tid, 4711u);
  EXPECT_EQ(stack->lock, 0x7f12'a450'1140u);
}

TEST(RuntimeFrames, KeepFunctionAndLine) {
  for (const std::uint64_t function : {std::uint64_t{0}, std::uint64_t{1}, kMaxRuntimeFunction}) {
    for (const std::uint32_t line : {0u, 1u, kMaxRuntimeLine}) {
      const std::uint64_t pc = runtime_frame_pc({function, line});
      EXPECT_TRUE(is_runtime_frame(pc));
      EXPECT_EQ(runtime_frame_of(pc).function, function);
      EXPECT_EQ(runtime_frame_of(pc).line, line);
    }
  }
  // A line that does not fit is unknown, and does not change the function.
  EXPECT_EQ(runtime_frame_pc({5, kMaxRuntimeLine + 1}), runtime_frame_pc({5, 0}));
}

TEST(RuntimeFrames, AreNoAddressesOfCode) {
  for (const std::uint64_t pc :
       {std::uint64_t{0}, std::uint64_t{0x7fffffffffff}, std::uint64_t{0x00ffffffffffffff},
        kRuntimeFrameBase - 1, 2 * kRuntimeFrameBase, std::uint64_t{0xffff800000000000}}) {
    EXPECT_FALSE(is_runtime_frame(pc)) << std::hex << pc;
  }
  EXPECT_EQ(language_name(static_cast<Language>(200)), "unknown language");
}

}  // namespace
}  // namespace swipr::wire
