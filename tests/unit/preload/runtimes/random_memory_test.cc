// Readers on memory of random contents: they end, stay inside their bounds and invent nothing.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_lines.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/splice.h"

namespace swipr::runtimes {
namespace {

// Every address leads to some bytes of a small memory, most of whose words are addresses again.
class RandomMemory {
 public:
  static constexpr std::uint64_t kCodeType = 0x7f00'0000'1000;

  explicit RandomMemory(std::uint64_t seed) : random_(seed) {
    for (std::uint64_t& word : words_) {
      switch (random_() % 10) {
        case 0:
          word = random_();
          break;
        case 1:
        case 2:
          word = random_() % 300;  // also a reference count
          break;
        case 3:
          word = 0;
          break;
        case 4:
        case 5:
          word = kCodeType;
          break;
        default:
          word = 0x7f00'0000'0000 + random_() % (1 << 20) * 8;
      }
    }
  }
  unwind::ImageReader reader() { return {&read, this}; }
  std::uint64_t reads = 0;
  std::mt19937_64& random() { return random_; }

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    auto& self = *static_cast<RandomMemory*>(state);
    const auto bytes = std::as_bytes(std::span(self.words_));
    ++self.reads;
    if (address % 7 == 6) return false;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bytes[(address + i) % bytes.size()];
    return true;
  }

  std::mt19937_64 random_;
  std::array<std::uint64_t, 1021> words_;  // a prime: frames lie at all phases
};

void read_everything(const PythonRuntime& python, RandomMemory& memory, TokenBuffer& tokens) {
  ObjectPieces reader(memory.reader());
  const auto text = std::make_unique<FunctionText>();
  const std::uint64_t thread = 0x7f00'0000'0000 + memory.random()() % 4096 * 8;
  memory.reads = 0;
  find_python_states(python, reader,
                     {.tid = memory.random()() % 300, .pthread = 0, .tid_in_pthread = 16}, 1)
      .first();
  EXPECT_LE(memory.reads, kMaxPythonInterpreters * 3 + kMaxPythonThreads * 8);
  memory.reads = 0;
  walk_python(python, reader, {{thread}}, tokens);
  EXPECT_LE(memory.reads, kMaxPythonFrames * 24);
  EXPECT_LE(tokens.added(), kMaxPythonFrames);
  std::size_t named = 0;
  for (const Token& token : tokens.tokens()) {
    std::uint32_t line = 0;
    EXPECT_NE(token.code, 0u);
    memory.reads = 0;
    read_python_function(python, reader, token, *text);
    read_python_line(python, reader, token, line);
    EXPECT_LE(memory.reads, 2000u);
    EXPECT_LE(text->name.view().size(), 1024u);
    if (++named == 20) break;
  }
  PythonGil gil;
  read_python_gil(python, reader, thread, gil);
}

void splice_randomly(RandomMemory& memory, const TokenBuffer& tokens, SplicedStack& out) {
  std::vector<std::uint64_t> pcs;
  std::vector<std::uint64_t> stacks;
  auto& random = memory.random();
  for (std::uint64_t left = random() % 60; left > 0; --left) {
    pcs.push_back(random() % 4);
    stacks.push_back(0x7f00'0000'0000 + random() % (1 << 20) * 8);
  }
  const auto omitted_at = static_cast<std::uint32_t>(random() % (pcs.size() + 1));
  splice({pcs, stacks, random() % 2 == 0, omitted_at},
         {tokens.tokens(), tokens.omitted(), random() % 2 == 0}, {1, 2}, out);
  // All tokens, in their order; native frames at most once, in their order.
  std::uint32_t token = 0;
  std::uint32_t native = 0;
  for (const SplicedFrame& frame : out.view()) {
    if (out.omitted_at != 0) break;
    if (frame.is_token) {
      ASSERT_EQ(frame.index, token++);
    } else {
      ASSERT_GE(frame.index, native);
      native = frame.index + 1;
    }
  }
  EXPECT_TRUE(out.omitted_at != 0 || token == tokens.tokens().size());
}

class RandomMemoryOfVersion : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomMemoryOfVersion, IsReadWithinBounds) {
  const PythonRuntime python{.layout = *find_python_layout(GetParam()),
                             .runtime = 0x7f00'0000'2000,
                             .code_type = RandomMemory::kCodeType,
                             .loop = {}};
  const auto tokens = std::make_unique<TokenBuffer>();
  const auto spliced = std::make_unique<SplicedStack>();
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory(seed);
    read_everything(python, memory, *tokens);
    splice_randomly(memory, *tokens, *spliced);
    found += tokens->added();
  }
  EXPECT_GT(found, 0u);  // else the test would read nothing
}

INSTANTIATE_TEST_SUITE_P(Versions, RandomMemoryOfVersion,
                         ::testing::Values(8, 9, 10, 11, 12, 13, 14));

TEST(RandomMemory, MakesNoPythonOfAnImage) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory(seed);
    const PythonDetection found =
        detect_python({0x7f00'0000'3000, 0x7f00'0000'3400}, 0x7f00'0000'0000, memory.reader());
    EXPECT_NE(found.state, PythonState::kFound);
    EXPECT_LE(memory.reads, 500u);
  }
}

TEST(RandomMemory, HasLinesOfAnyTable) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory(seed);
    auto& random = memory.random();
    const auto format = static_cast<PythonLineFormat>(random() % 3);
    memory.reads = 0;
    find_python_line(format, 1, static_cast<std::uint32_t>(random() % 100'000),
                     {0x7f00'0000'0000, 0x7f00'0000'0000 + random() % (1 << 20)}, memory.reader());
    EXPECT_LE(memory.reads, kMaxPythonLineTable / 128 + 1);
  }
}

}  // namespace
}  // namespace swipr::runtimes
