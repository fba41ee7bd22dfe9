#include "preload/runtimes/python/python_tasks.h"

#include <cstring>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/python/python_task_reader.h"

namespace swipr::runtimes {

namespace {

bool is_task(const PythonTaskReader& read, const PythonTaskHome& home,
             std::uint64_t object) noexcept {
  constexpr std::uint64_t kTypeBase = 256;  // PyTypeObject.tp_base
  constexpr unsigned kMaxBases = 8;
  std::uint64_t type = read.type_of(object);
  for (unsigned step = 0; type != 0 && step < kMaxBases; ++step) {
    if (type == home.task_type) return true;
    type = read.word(type + kTypeBase);
  }
  return false;
}

// What awaits an asynchronous generator's next value, or a coroutine for an object's __await__. Not
// all versions export these types.
bool is_step_of_another(const PythonTaskReader& read, std::uint64_t type) noexcept {
  constexpr std::uint64_t kTypeName = 24;  // PyTypeObject.tp_name
  std::array<char, 24> name{};
  if (!read.reader.read_value(read.word(type + kTypeName), name)) return false;
  for (const char* const step :
       {"async_generator_asend", "async_generator_athrow", "coroutine_wrapper"}) {
    if (std::strncmp(name.data(), step, name.size()) == 0) return true;
  }
  return false;
}

// The awaits of a task: the first walk stores them, the second one compares.
class AwaitWalk {
 public:
  AwaitWalk(const PythonTaskReader& read, std::uint32_t generator_frame,
            PythonAwaits& awaits) noexcept
      : read_(read), generator_frame_(generator_frame), awaits_(awaits) {
    awaits_.count = 0;
  }

  PythonTaskState run(std::uint64_t awaited, bool is_second) noexcept {
    const PythonTaskTypes& types = read_.types;
    std::uint32_t count = 0;
    for (unsigned step = 0; step < 2 * kMaxPythonAwaits && count < kMaxPythonAwaits; ++step) {
      const std::uint64_t type = read_.type_of(awaited);
      if (type == types.coroutine || type == types.generator || type == types.async_generator) {
        Token token;
        const PythonTaskState state = read_frame(awaited, token);
        if (state != PythonTaskState::kWaits) return state;
        if (is_second && !is_same(token, awaits_.tokens[count])) return PythonTaskState::kMoved;
        awaits_.tokens[count++] = token;
      } else if (is_step_of_another(read_, type)) {
        awaited = read_.word(awaited + kPythonObjectBytes);
      } else {
        break;
      }
    }
    const bool is_whole = count != 0 && (!is_second || count == awaits_.count);
    awaits_.count = count;
    return is_whole ? PythonTaskState::kWaits : PythonTaskState::kMoved;
  }

 private:
  static bool is_same(const Token& left, const Token& right) noexcept {
    return left.code == right.code && left.fingerprint == right.fingerprint &&
           left.mark == right.mark && left.position == right.position;
  }
  // The mark is the generator, which is then replaced by what it awaits.
  PythonTaskState read_frame(std::uint64_t& generator, Token& token) const noexcept {
    constexpr std::uint64_t kStateBeforeFrame = 5;  // gi_frame_state
    const PythonLayout& layout = read_.python.layout;
    const std::uint64_t frame = generator + generator_frame_;
    std::int8_t state = 0;
    PythonObjectPart<80> part;
    if (!read_.reader.read_value(frame - kStateBeforeFrame, state) ||
        !read_.reader.read_value(frame, part)) {
      return PythonTaskState::kMoved;
    }
    const bool is_old = read_.minor() < 15;
    if (state == (is_old ? 0 : 4)) return PythonTaskState::kRuns;
    const bool is_suspended = is_old ? state < 0 : state >= 0 && state < 4;  // or has not begun
    token.mark = generator;
    token.code = part.template at<std::uint64_t>(layout.frame_code) & ~std::uint64_t{3};
    token.position =
        python_position(layout, token.code, part.template at<std::uint64_t>(layout.frame_position));
    generator = awaited_by(frame, part);
    const bool is_code =
        read_python_code_fingerprint(read_.python, read_.reader, token.code, token.fingerprint);
    return is_suspended && is_code ? PythonTaskState::kWaits : PythonTaskState::kMoved;
  }
  // What a suspended frame awaits is on the top of its values, 3.15+: below it; 0: it has none.
  std::uint64_t awaited_by(std::uint64_t frame, const PythonObjectPart<80>& part) const noexcept {
    constexpr std::uint32_t kTop = 64;  // a number of values, 3.14+: their end
    constexpr std::uint32_t kValues = 72;
    constexpr std::uint32_t kMaxValues = 1 << 20;
    std::uint64_t top = part.template at<std::uint64_t>(kTop);
    const std::uint64_t values = frame + kValues;
    if (read_.minor() < 14) {
      const auto depth = static_cast<std::uint32_t>(top);
      top = depth <= kMaxValues ? values + 8 * std::uint64_t{depth} : 0;
    }
    const std::uint64_t above = read_.minor() < 15 ? 0 : 8;  // an index, if it iterates
    return top > values + above ? read_.word(top - above - 8) & ~std::uint64_t{3} : 0;
  }

  const PythonTaskReader& read_;
  std::uint32_t generator_frame_;
  PythonAwaits& awaits_;
};

}  // namespace

std::uint64_t PythonTaskReader::word(std::uint64_t address) const noexcept {
  std::uint64_t value = 0;
  return address % 8 == 0 && reader.read_value(address, value) ? value : 0;
}

PythonTaskState read_python_task(const PythonRuntime& python, const PythonTaskTypes& types,
                                 const PythonTaskHome& home, ObjectPieces& reader,
                                 std::uint64_t address, PythonTask& out,
                                 PythonAwaits& awaits) noexcept {
  const PythonTaskReader read{python, types, reader};
  const PythonTaskLayout* const layout = find_python_task_layout(read.minor());
  if (layout == nullptr || address % 8 != 0) return PythonTaskState::kEnded;
  AwaitWalk walk(read, layout->generator_frame, awaits);
  for (const bool is_second : {false, true}) {
    reader.forget();
    PythonObjectPart<kMaxPythonTaskBytes> part;
    const auto bytes = std::as_writable_bytes(std::span(part.bytes));
    if (!is_task(read, home, address) || !reader.read(address, bytes.first(layout->task_bytes)) ||
        part.template at<std::int32_t>(layout->task_state) != 0) {
      return is_second ? PythonTaskState::kMoved : PythonTaskState::kEnded;
    }
    const PythonTask task{part.template at<std::uint64_t>(layout->task_coroutine),
                          part.template at<std::uint64_t>(layout->task_coroutine + 8u)};
    if (is_second && task != out) return PythonTaskState::kMoved;
    out = task;
    const PythonTaskState state = walk.run(task.coroutine, is_second);
    if (state != PythonTaskState::kWaits) return state;
    // Between both reads, because the name goes with the task.
    if (!is_second && !read_python_task_name(python, reader, types.text, task.name, awaits.name)) {
      return PythonTaskState::kMoved;
    }
  }
  return PythonTaskState::kWaits;
}

}  // namespace swipr::runtimes
