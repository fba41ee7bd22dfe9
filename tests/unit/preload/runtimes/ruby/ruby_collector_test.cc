// The flag that Ruby collects garbage, found in code and memory as Ruby's.
#include "preload/runtimes/ruby/ruby_collector.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "preload/runtimes/ruby/ruby_frames.h"
#include "tests/unit/preload/runtimes/ruby/collector_code.h"

namespace swipr::runtimes {
namespace {

// A machine, a Ractor and two of its threads, which have one context each.
struct CollectorMemory {
  std::array<std::uint8_t, 64> code{};
  std::uint64_t table = 0;     // address of `variable`
  std::uint64_t variable = 0;  // address of `machine`
  std::array<std::uint64_t, 17> machine{};
  std::array<std::uint64_t, 4> space{};
  std::array<std::uint64_t, 64> ractor{};
  std::array<std::array<std::uint64_t, 16>, 2> threads{};
  std::array<std::array<std::uint64_t, 16>, 2> contexts{};
};

std::uint64_t place_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

bool read_collector_memory(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const auto memory = std::as_bytes(
      std::span<const CollectorMemory, 1>(static_cast<const CollectorMemory*>(state), 1));
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::uint64_t offset = address + at - place_of(state);
    out[at] = offset < memory.size() ? memory[offset] : std::byte{0};
  }
  return address + out.size() > place_of(state) &&
         address < place_of(state) + sizeof(CollectorMemory);
}

class RubyCollectorTest : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::size_t kRunning = 40;  // word of the Ractor

  RubyCollectorTest() : layout_(*find_ruby_layout(GetParam() / 10, GetParam() % 10)) {
    memory_->table = place_of(&memory_->variable);
    memory_->variable = place_of(&memory_->machine);
    memory_->machine[16] = place_of(&memory_->space);
    for (std::size_t at : {0u, 1u}) {
      memory_->contexts[at][layout_.context_thread / 8] = place_of(&memory_->threads[at]);
      memory_->threads[at][3] = place_of(&memory_->ractor);
    }
    memory_->ractor[20] = place_of(&memory_->threads[0]);  // another use of the main thread
    memory_->ractor[kRunning] = context(1);
    memory_->ractor[kRunning + 1] = place_of(&memory_->threads[0]);
  }

  std::uint64_t context(std::size_t thread) const { return place_of(&memory_->contexts[thread]); }
  void set_flag(std::uint64_t flags) { memory_->space[2] = flags; }

  RubyRuntime runtime_of(const CodeForm& form) {
    const std::uint64_t begin = place_of(&memory_->code);
    std::copy(form.code.begin(), form.code.end(), memory_->code.begin());
    form.point_to(memory_->code, place_of(form.has_table ? &memory_->table : &memory_->variable));
    RubyRuntime ruby{.layout = layout_};
    ruby.collector.code = {begin, begin + form.code.size()};
    return ruby;
  }
  void find(RubyRuntime& ruby) {
    ObjectPieces reader({&read_collector_memory, memory_.get()});
    find_ruby_collector(ruby, reader, context(0));
  }
  bool is_collecting(const RubyRuntime& ruby, std::size_t thread) {
    ObjectPieces reader({&read_collector_memory, memory_.get()});
    return is_ruby_collecting(ruby, reader, context(thread));
  }

  RubyLayout layout_;
  std::unique_ptr<CollectorMemory> memory_ = std::make_unique<CollectorMemory>();
};

TEST_P(RubyCollectorTest, IsTheThreadThatHoldsTheLockWhileTheFlagIsSet) {
  for (const CodeForm& form : collector_code_forms()) {
    RubyRuntime ruby = runtime_of(form);
    find(ruby);
    EXPECT_EQ(ruby.collector.flag, place_of(&memory_->space[2]));
    EXPECT_EQ(ruby.collector.mask, 0x20);
    EXPECT_EQ(ruby.collector.running, kRunning * 8);
    for (const std::uint64_t flags : {0u, 0x20u, 0xdfu, 0xffu}) {
      set_flag(flags);
      EXPECT_EQ(is_collecting(ruby, 1), (flags & 0x20) != 0) << flags;
      EXPECT_FALSE(is_collecting(ruby, 0)) << "another one holds the lock";
    }
  }
}

TEST_P(RubyCollectorTest, HasATokenBeforeTheFrames) {
  RubyRuntime ruby = runtime_of(collector_code_forms()[0]);
  find(ruby);
  const auto tokens = std::make_unique<TokenBuffer>();
  std::array<std::uint64_t, 16>& context = memory_->contexts[1];
  context[0] = place_of(&memory_->ractor);  // a stack of one frame, which is no function
  context[1] = layout_.frame_bytes / 8;
  context[2] = context[0];
  for (const bool is_set : {false, true}) {
    set_flag(is_set ? 0x20 : 0);
    ObjectPieces reader({&read_collector_memory, memory_.get()});
    EXPECT_EQ(walk_ruby(ruby, reader, place_of(&context), *tokens), RubyWalkEnd::kRoot);
    ASSERT_EQ(tokens->added(), is_set ? 1u : 0u);
    EXPECT_TRUE(!is_set || tokens->tokens()[0].kind == TokenKind::kCollector);
  }
}

// A byte that differs: refused, or an operand is another, and then the flag is elsewhere.
TEST_P(RubyCollectorTest, IsNotKnownIfTheCodeIsAnother) {
  for (const CodeForm& form : collector_code_forms()) {
    unsigned refused = 0;
    for (std::size_t at = 0; at < form.code.size(); ++at) {
      if (form.is_jump_distance(at)) continue;
      RubyRuntime ruby = runtime_of(form);
      memory_->code[at] ^= 0x5a;
      find(ruby);
      if (ruby.collector.flag == 0) ++refused;
      EXPECT_FALSE(ruby.collector.flag == place_of(&memory_->space[2]) &&
                   ruby.collector.mask == 0x20)
          << at;
    }
    EXPECT_GT(refused, form.code.size() / 2);
    RubyRuntime ruby = runtime_of(form);
    --ruby.collector.code.end;
    ruby.collector.code.end -= 4;  // it does not end in its range
    find(ruby);
    EXPECT_EQ(ruby.collector.flag, 0u);
  }
}

TEST_P(RubyCollectorTest, IsNotKnownIfNothingSaysWhoRuns) {
  RubyRuntime ruby = runtime_of(collector_code_forms()[0]);
  memory_->threads[1][3] = 0;  // of no Ractor
  find(ruby);
  EXPECT_EQ(ruby.collector.flag, 0u);
  set_flag(0x20);
  EXPECT_FALSE(is_collecting(ruby, 1));
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyCollectorTest, ::testing::Values(30u, 31u, 32u, 33u, 34u));

// 2.7 has a variable for it.
TEST(RubyCollectorOfOldVersion, IsTheThreadOfTheCurrentContext) {
  std::array<std::uint64_t, 4> memory{0x20, 0x1000, 0, 0};
  const auto read = [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const std::uint64_t offset = address - place_of(state);
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::uint64_t from = offset + at;
      out[at] = from < 32 ? static_cast<const std::byte*>(state)[from] : std::byte{0};
    }
    return true;
  };
  RubyRuntime ruby{.layout = *find_ruby_layout(2, 7)};
  ruby.collector.flag = place_of(&memory[0]);
  ruby.collector.mask = 0x20;
  ruby.current_context = place_of(&memory[1]);
  ObjectPieces reader({read, memory.data()});
  EXPECT_TRUE(is_ruby_collecting(ruby, reader, 0x1000));
  EXPECT_FALSE(is_ruby_collecting(ruby, reader, 0x2000));
}

}  // namespace
}  // namespace swipr::runtimes
