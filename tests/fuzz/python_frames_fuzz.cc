// Python's frames, names, lines and tasks of asyncio in a memory of any contents, and the splice of
// what was found. The first byte selects the version, the second the thread state; the rest is the
// memory, which repeats, so that every address is readable.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/python/python_tasks.h"
#include "preload/runtimes/splice.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr std::uint64_t kCodeType = kBegin + 0x1000;
constexpr std::uint64_t kMaxTaskReads = std::uint64_t{2} * kMaxPythonAwaits * 20 + 4096;
constexpr std::uint64_t kMaxReads = std::uint64_t{kMaxPythonThreads} * 8 + kMaxPythonFrames * 8;

void read_tokens(const PythonRuntime& python, ObjectPieces& reader, const TokenBuffer& tokens) {
  constexpr std::size_t kMost = 16;
  static const auto text = std::make_unique<FunctionText>();
  for (const Token& token : tokens.tokens().first(std::min(tokens.tokens().size(), kMost))) {
    std::uint32_t line = 0;
    // The memory does not change: whatever was found once is found again.
    if (!read_python_line(python, reader, token, line)) std::abort();
    if (read_python_function(python, reader, token, *text) && text->name.view().size() > 1024) {
      std::abort();
    }
  }
}

void splice_tokens(const TokenBuffer& tokens, std::span<const std::byte> bytes) {
  static const auto spliced = std::make_unique<SplicedStack>();
  std::array<std::uint64_t, 64> words{};
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
  const NativeStack native{.pcs = std::span(words).first(32),
                           .stacks = std::span(words).last(32),
                           .is_root_reached = (words[0] & 1) != 0,
                           .omitted_at = static_cast<std::uint32_t>(words[1] % 32)};
  const swipr::Range<std::uint64_t> loop{words[2], words[3]};
  splice(native, {tokens.tokens(), tokens.omitted(), tokens.is_root_reached()}, loop, *spliced);
  std::size_t found = 0;
  for (const SplicedFrame& frame : spliced->view()) {
    if (frame.index >= (frame.is_token ? tokens.tokens().size() : 32)) std::abort();
    found += frame.is_token ? 1 : 0;
  }
  const bool is_whole = spliced->omitted_at == 0;
  if (is_whole && found != tokens.tokens().size()) std::abort();
}

void read_tasks(const PythonRuntime& python, RepeatingMemory& memory, ObjectPieces& reader,
                std::uint64_t address) {
  static const auto list = std::make_unique<PythonTaskList>();
  static const auto awaits = std::make_unique<PythonAwaits>();
  static const auto text = std::make_unique<FunctionText>();
  const PythonTaskTypes types{kBegin,        kBegin + 0x10, kBegin + 0x20, kBegin + 0x30,
                              kBegin + 0x40, kBegin + 0x50, kBegin + 0x60};
  PythonTaskHome home{kCodeType, address};
  memory.reads = 0;
  list->tasks[0] = address;
  list->count = 1;
  if (address % 256 == 0) {  // slow
    list_python_tasks(python, types, home, reader, *list);
    if (list->count > kMaxPythonTasks || memory.reads > 200'000) std::abort();
    find_python_task_home(python, types, reader, home);
    home.task_type = kCodeType;
  }
  const std::size_t count = std::min<std::size_t>(list->count, 4);
  for (const std::uint64_t each : std::span(list->tasks).first(count)) {
    PythonTask task;
    memory.reads = 0;
    read_python_task(python, types, home, reader, each, task, *awaits);
    if (awaits->count > kMaxPythonAwaits || memory.reads > kMaxTaskReads) std::abort();
    read_python_task_name(python, reader, types.text, task.name, text->name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 32) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(2)};
  static const auto tokens = std::make_unique<TokenBuffer>();
  const PythonRuntime python{.layout = *find_python_layout(8 + data[0] % (kNewestPython - 7)),
                             .runtime = kBegin,
                             .code_type = kCodeType,
                             .loop = {}};
  ObjectPieces reader(memory.reader());
  const std::uint64_t thread = kBegin + data[1] * std::uint64_t{8};
  find_python_states(python, reader, {.tid = data[1], .pthread = 0, .tid_in_pthread = 16}, 1)
      .first();
  walk_python(python, reader, {{thread}}, *tokens);
  if (tokens->added() > kMaxPythonFrames || memory.reads > kMaxReads) std::abort();
  read_tokens(python, reader, *tokens);
  splice_tokens(*tokens, memory.bytes);
  read_tasks(python, memory, reader, thread);
  PythonGil gil;
  read_python_gil(python, reader, thread, gil);
  detect_python({kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
