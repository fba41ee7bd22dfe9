// Which tasks of asyncio there are. In 3.11 to 3.13 they are the elements of a WeakSet of the
// module asyncio.tasks, from 3.14 on they are linked in thread states.
#include <algorithm>
#include <cstring>
#include <span>

#include "preload/runtimes/python/python_task_reader.h"
#include "preload/runtimes/python/python_threads.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {

namespace {

constexpr std::uint64_t kMaxMembers = 16384;  // of a dict, set or list

constexpr std::uint32_t kTaskLink = 152;  // 3.14+: in a task

bool is_text(const PythonTaskReader& read, std::uint64_t object, std::string_view text) noexcept {
  constexpr std::uint64_t kLength = 16;
  std::array<char, 24> bytes{};
  const auto part = std::span(bytes).first(text.size());
  return read.word(object + kLength) == text.size() &&
         read.reader.read(object + read.python.layout.text_ascii, std::as_writable_bytes(part)) &&
         std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// The value of a key. 0: the dict has none.
std::uint64_t find_item(const PythonTaskReader& read, std::uint64_t dictionary,
                        std::string_view name) noexcept {
  if (!read.is(dictionary, read.types.dictionary)) return 0;
  const std::uint64_t keys = read.word(dictionary + 32);
  std::uint64_t values = read.word(dictionary + 40);  // apart from the keys, if not 0
  const std::uint64_t sizes = read.word(keys + 8);
  const bool has_hashes = (sizes >> 16 & 0xff) == 0;
  std::uint64_t key = keys + 32 + (std::uint64_t{1} << (sizes >> 8 & 31)) + (has_hashes ? 8 : 0);
  const std::uint64_t entry_bytes = has_hashes ? 24 : 16;
  const std::uint64_t count = std::min(read.word(keys + 24), kMaxMembers);
  if (read.minor() >= 13 && values != 0) values += 8;
  for (std::uint64_t at = 0; at < count; ++at, key += entry_bytes) {
    if (is_text(read, read.word(key), name))
      return read.word(values == 0 ? key + 8 : values + 8 * at);
  }
  return 0;
}

// The attribute `data` of a WeakSet, the first that its __init__ sets.
std::uint64_t data_of(const PythonTaskReader& read, std::uint64_t weak_set) noexcept {
  constexpr std::uint64_t kDictionary = 24;  // before the object
  constexpr std::uint64_t kValues = 32;      // … 3.11: of a dict that does not exist yet
  const std::uint64_t dictionary = read.word(weak_set - kDictionary);
  if (read.minor() == 11) {
    const std::uint64_t values = read.word(weak_set - kValues);
    if (values != 0) return read.word(values);
  } else if (read.minor() == 12 && dictionary % 2 == 1) {
    return read.word(dictionary + 1);  // a tagged address of values
  } else if (dictionary == 0) {
    return read.word(weak_set + kPythonObjectBytes + 8);
  }
  return find_item(read, dictionary, "data");
}

std::uint64_t main_interpreter(const PythonTaskReader& read) noexcept {
  const PythonLayout& layout = read.python.layout;
  std::uint64_t last = 0;
  std::uint64_t next = read.word(read.python.runtime + layout.runtime_interpreters);
  for (unsigned step = 0; next != 0 && step < kMaxPythonInterpreters; ++step) {
    last = next;
    next = read.word(last + layout.interpreter_next);
  }
  return last;
}

void add_task(PythonTaskList& out, std::uint64_t task) noexcept {
  if (out.count == out.tasks.size()) {
    ++out.left_out;
  } else {
    out.tasks[out.count++] = task;
  }
}

void list_set(const PythonTaskReader& read, std::uint64_t set, PythonTaskList& out) noexcept {
  constexpr std::uint64_t kUsed = 24;  // PySetObject: used, mask, table
  const std::uint64_t used = std::min(read.word(set + kUsed), kMaxMembers);
  const std::uint64_t places = std::min(read.word(set + kUsed + 8) + 1, 8 * kMaxMembers);
  const std::uint64_t table = read.word(set + kUsed + 16);
  for (std::uint64_t at = 0; at < places && out.count < out.tasks.size(); ++at) {
    const std::uint64_t key = read.word(table + 16 * at);
    if (read.is(key, read.types.weak_reference)) add_task(out, read.word(key + kPythonObjectBytes));
  }
  if (out.count == out.tasks.size() && used > out.count) {
    out.left_out = static_cast<std::uint32_t>(used) - out.count;
  }
}

void list_threads(const PythonTaskReader& read, std::uint32_t thread_tasks,
                  PythonTaskList& out) noexcept {
  std::uint64_t thread = read.word(main_interpreter(read) + read.python.layout.interpreter_threads);
  std::uint64_t steps_left = kMaxMembers;
  for (; thread != 0 && steps_left != 0; thread = read.word(thread + kPythonThreadNext)) {
    const std::uint64_t head = thread + thread_tasks;
    std::uint64_t link = read.word(head);
    for (; link != 0 && link != head && steps_left != 0; --steps_left) {
      add_task(out, link - kTaskLink);
      link = read.word(link);
    }
    if (steps_left != 0) --steps_left;
  }
}

}  // namespace

bool find_python_task_types(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                            unwind::ImageReader reader, PythonTaskTypes& out) noexcept {
  constexpr std::string_view kNames[] = {"PyDict_Type",   "PySet_Type", "_PyWeakref_RefType",
                                         "PyCoro_Type",   "PyGen_Type", "PyAsyncGen_Type",
                                         "PyUnicode_Type"};
  std::uint64_t* const types[] = {&out.dictionary, &out.set,       &out.weak_reference,
                                  &out.coroutine,  &out.generator, &out.async_generator,
                                  &out.text};
  for (std::size_t at = 0; at < std::size(kNames); ++at) {
    *types[at] = unwind::find_exported(dynamic, load_bias, kNames[at], reader);
    if (*types[at] == 0) return false;
  }
  return true;
}

bool find_python_task_home(const PythonRuntime& python, const PythonTaskTypes& types,
                           ObjectPieces& reader, PythonTaskHome& out) noexcept {
  constexpr std::uint64_t kTypeBytes = 32;  // PyTypeObject.tp_basicsize
  const PythonTaskReader read{python, types, reader};
  const PythonTaskLayout* const layout = find_python_task_layout(read.minor());
  out = {};
  if (layout == nullptr) return false;
  reader.forget();
  const std::uint64_t modules = read.word(main_interpreter(read) + layout->interpreter_modules);
  const std::uint64_t module = find_item(read, modules, "asyncio.tasks");
  const std::uint64_t names = read.word(module + kPythonObjectBytes);
  const std::uint64_t type = find_item(read, names, "Task");
  if (type == 0 || read.word(type + kTypeBytes) != layout->task_bytes) return false;
  if (read.minor() < 14) {
    const std::string_view name = read.minor() >= 12 ? "_scheduled_tasks" : "_all_tasks";
    out.tasks = data_of(read, find_item(read, names, name));
    if (!read.is(out.tasks, types.set)) return false;
  }
  out.task_type = type;
  return true;
}

bool list_python_tasks(const PythonRuntime& python, const PythonTaskTypes& types,
                       const PythonTaskHome& home, ObjectPieces& reader,
                       PythonTaskList& out) noexcept {
  const PythonTaskReader read{python, types, reader};
  out.count = out.left_out = 0;
  if (home.task_type == 0) return false;
  reader.forget();
  if (python.layout.minor >= 14) {
    list_threads(read, find_python_task_layout(read.minor())->thread_tasks, out);
    return true;
  }
  if (!read.is(home.tasks, types.set)) return false;
  list_set(read, home.tasks, out);
  return true;
}

}  // namespace swipr::runtimes
