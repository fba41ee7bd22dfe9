// Tasks of asyncio.
#include "preload/agent/sample/languages/language_frames.h"

namespace swipr::agent {

namespace {

constexpr std::chrono::seconds kHomePause{1};  // a program may import asyncio at any time

const FoundRuntime* find_python(const RuntimeRegistry& runtimes) noexcept {
  for (const FoundRuntime& runtime : runtimes.runtimes()) {
    if (runtime.language == Language::kPython && !runtime.is_refused()) return &runtime;
  }
  return nullptr;
}

}  // namespace

TaskList LanguageFrames::list_tasks(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                    Moment now) noexcept {
  constexpr const char* kNoPython =
      "no task of asyncio was found: the program has no CPython whose frames are read";
  static_assert(runtimes::kFirstPythonWithTasks == 11);
  constexpr const char* kOldPython =
      "no task of asyncio was found: tasks are read from CPython 3.11 on";
  constexpr const char* kNoTask =
      "no task of asyncio was found: asyncio is not used, or its tasks are not those of its C "
      "module";
  const FoundRuntime* const python = find_python(runtimes);
  if (python == nullptr || !memory.is_open() || !has_memory()) return {kNoPython};
  if (python->python.layout.minor < runtimes::kFirstPythonWithTasks) return {kOldPython};
  Tasks& tasks = own_->tasks_of_asyncio;
  runtimes::ObjectPieces reader(memory.image_reader());
  if (tasks.runtime != python->id) {
    tasks.runtime = 0;
    tasks.home = {};
    tasks.home_due = {};
    if (!runtimes::find_python_task_types(python->dynamic, python->load_bias, reader.image_reader(),
                                          tasks.types)) {
      return {kNoPython};
    }
    tasks.runtime = python->id;
  }
  runtimes::PythonTaskList& list = tasks.list;
  if (!runtimes::list_python_tasks(python->python, tasks.types, tasks.home, reader, list) &&
      now >= tasks.home_due) {
    tasks.home_due = now + kHomePause;
    runtimes::find_python_task_home(python->python, tasks.types, reader, tasks.home);
    runtimes::list_python_tasks(python->python, tasks.types, tasks.home, reader, list);
  }
  return {list.count == 0 ? kNoTask : nullptr, std::span(list.tasks).first(list.count),
          list.left_out};
}

runtimes::PythonTaskState LanguageFrames::read_task(const RuntimeRegistry& runtimes,
                                                    ProcMemory& memory, std::uint64_t task,
                                                    runtimes::PythonTask& parts,
                                                    std::string_view& name,
                                                    unwind::FrameBuffer& frames) noexcept {
  using runtimes::PythonTaskState;
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  if (snapshot == nullptr || snapshot->language != Language::kPython || !has_memory()) {
    return PythonTaskState::kEnded;
  }
  Tasks& tasks = own_->tasks_of_asyncio;
  runtimes::ObjectPieces reader(memory.image_reader());
  const PythonTaskState state = runtimes::read_python_task(
      snapshot->python, tasks.types, tasks.home, reader, task, parts, tasks.awaits);
  if (state != PythonTaskState::kWaits) return state;
  name = tasks.awaits.name.view();
  frames.frame_count = frames.omitted_at = frames.claim_count = 0;
  frames.hole = {};
  frames.flags = wire::kStackRootReached;
  const Moment now = monotonic_now();
  for (std::uint32_t left = tasks.awaits.count; left-- > 0; ++frames.frame_count) {
    const runtimes::Token& token = tasks.awaits.tokens[left];
    frames.pcs[frames.frame_count] = own_->names.pc_of(token, *snapshot, memory, functions_, now);
    frames.kinds[frames.frame_count] = static_cast<std::uint8_t>(
        unwind::kExactFrame | static_cast<unsigned>(Execution::kInterpreted));
  }
  return state;
}

}  // namespace swipr::agent
