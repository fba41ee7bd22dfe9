// Readers on memory of random contents: they end, stay inside their bounds and invent nothing.
#include "tests/unit/preload/runtimes/random_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_lines.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/python/python_tasks.h"
#include "preload/runtimes/splice.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kRandomCodeType = 0x7f00'0000'1000;

// Most words are addresses again.
RandomMemory random_python_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    switch (random() % 10) {
      case 0:
        return random();
      case 1:
      case 2:
        return random() % 300;  // also a reference count
      case 3:
        return 0;
      case 4:
      case 5:
        return kRandomCodeType;
      default:
        return 0x7f00'0000'0000 + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

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
  const PythonTaskTypes types{kRandomCodeType, kRandomCodeType, kRandomCodeType, kRandomCodeType,
                              kRandomCodeType, kRandomCodeType, kRandomCodeType};
  PythonTaskHome home{kRandomCodeType, thread};
  const auto tasks = std::make_unique<PythonTaskList>();
  PythonTask task;
  if (memory.random()() % 16 == 0) {  // the slowest
    memory.reads = 0;
    list_python_tasks(python, types, home, reader, *tasks);
    EXPECT_LE(memory.reads, 200'000u);
    EXPECT_LE(tasks->count, kMaxPythonTasks);
    find_python_task_home(python, types, reader, home);
    home = {kRandomCodeType, thread};
  }
  const auto awaits = std::make_unique<PythonAwaits>();
  memory.reads = 0;
  read_python_task(python, types, home, reader, thread, task, *awaits);
  EXPECT_LE(memory.reads, 2 * kMaxPythonAwaits * 20 + 4096);
  EXPECT_LE(awaits->count, kMaxPythonAwaits);
  read_python_task_name(python, reader, kRandomCodeType, task.name, text->name);
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
                             .code_type = kRandomCodeType,
                             .loop = {}};
  const auto tokens = std::make_unique<TokenBuffer>();
  const auto spliced = std::make_unique<SplicedStack>();
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory = random_python_memory(seed);
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
    RandomMemory memory = random_python_memory(seed);
    const PythonDetection found =
        detect_python({0x7f00'0000'3000, 0x7f00'0000'3400}, 0x7f00'0000'0000, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
    EXPECT_LE(memory.reads, 500u);
  }
}

TEST(RandomMemory, HasLinesOfAnyTable) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory = random_python_memory(seed);
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
