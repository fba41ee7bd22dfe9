#include "preload/agent/engine/recorder.h"

#include <signal.h>

#include <cstddef>
#include <new>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/engine/engine.h"
#include "preload/agent/probes/probe_table.h"
#include "preload/handler/asking.h"
#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/signal_waits.h"
#include "preload/handler/signals/timed_threads.h"
#include "preload/labels/thread_labels.h"

namespace swipr::agent {

namespace {

// Constructed at the first call, which precedes the control thread: as an initialised variable it
// would be 56 KiB of data in the library's file, for the few members that are not zero.
alignas(Engine) constinit std::byte engine_memory[sizeof(Engine)]{};
constinit bool engine_is_made = false;

Engine& engine() noexcept {
  if (!engine_is_made) {
    engine_is_made = true;
    return *new (engine_memory) Engine;
  }
  return *std::launder(reinterpret_cast<Engine*>(engine_memory));
}

}  // namespace

void Recorder::open_before_privileges_go() noexcept { engine().open_before_privileges_go(); }

Recording* Recorder::start(const RecordingRequest& request, OutputQueue& output,
                           const char** error) noexcept {
  return engine().start(request, output, error);
}

void Recorder::finish(Recording* recording, wire::EndReason reason, const char* text) noexcept {
  engine().finish(recording, reason, text);
}

bool Recorder::is_complete(const Recording* recording) const noexcept {
  return recording->is_complete();
}

bool Recorder::traces_functions(const Recording* recording) const noexcept {
  return recording->probes().any_attached();
}

void Recorder::set_table_place(std::string_view cache_home, std::string_view home) noexcept {
  TableFiles::set_place(cache_home, home);
}

void Recorder::set_signal_number(int signal_number) noexcept {
  engine().set_signal_number(signal_number);
}

void Recorder::forgo_signal_free_looks() noexcept { engine().forgo_signal_free_looks(); }

std::span<const FoundRuntime> Recorder::find_runtimes(RuntimeRegistry& survey) noexcept {
  return engine().find_runtimes(survey);
}
void Recorder::forgo_runtimes() noexcept { engine().forgo_runtimes(); }

void Recorder::choose_unwinder(UnwinderChoice choice) noexcept { engine().choose_unwinder(choice); }

void Recorder::set_owner(int pid) noexcept {
  const int number = engine().signal_number();
  labels::set_owner(pid);
  handler::set_disposition_owner(pid, number != 0 ? number : SIGURG);
}

Moment Recorder::next_deadline() const noexcept { return engine().next_deadline(); }
void Recorder::run_due(Moment now) noexcept { engine().run_due(now); }
void Recorder::flush(Moment now) noexcept { engine().flush(now); }
RecorderCounters Recorder::counters() const noexcept { return engine().counters(); }

void Recorder::reset_after_fork() noexcept {
  handler::forget_disposition_lock();
  handler::forget_asking_after_fork();
  handler::forget_timed_threads();
  handler::forget_signal_waits();
  handler::forget_after_fork();
  handler::restore_handler(false);
  probe_table().forget_users();
  // Nothing is freed: the memory was not inherited, the descriptors are in a table that the child
  // does not have, and the state of the parent's control thread is unknown.
  const int signal_number = engine().signal_number();
  const bool signal_free = engine().looks_signal_free();
  const bool runtimes = engine().reads_runtimes();
  const UnwinderChoice unwinder = engine().unwinder_choice();
  forget_mapped_memory();
  new (engine_memory) Engine;
  engine().choose_unwinder(unwinder);
  if (!signal_free) engine().forgo_signal_free_looks();
  if (!runtimes) engine().forgo_runtimes();
  engine().set_signal_number(signal_number);
}

Recorder& recorder() noexcept {
  static constinit Recorder instance;
  return instance;
}

}  // namespace swipr::agent
