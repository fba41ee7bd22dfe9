// Walks that reach code whose table is not built yet.
#include "preload/agent/sample/sampler.h"
#include "preload/agent/threads/own_waiters.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

using unwind::WalkEnd;

// Builds the tables that the walk needs: each round adds one.
WalkEnd Sampler::walk_and_build(const unwind::Registers& registers, bool exact,
                                unwind::StackReader stack, unwind::FrameBuffer& frames) noexcept {
  for (;;) {
    const WalkEnd end =
        process_.languages.walk_on(process_.modules.runtimes(), process_.memory,
                                   *process_.modules.code_map(), registers, exact, stack, frames);
    if (end != WalkEnd::kUnbuilt ||
        !process_.modules.build_table_at(unwind::outermost_lookup_address(frames),
                                         process_.memory)) {
      return end;
    }
  }
}

void Sampler::build_tables_for(std::uint32_t place) noexcept {
  if (!process_.memory.is_open() || process_.modules.code_map() == nullptr) return;
  Thread& thread = process_.threads[place];
  // It waits for the recording to begin: many processes end before their first tick.
  if (thread.tid.value == own_waiters::starting_tid.load(std::memory_order_relaxed) ||
      own_waiters::contains(thread.tid)) {
    return;
  }
  const WaitPlace wait = read_wait_place(thread.tid);
  // The result of the walk is not used, so the thread may wake meanwhile.
  if (wait.kind == WaitKind::kBlocked) walk_from_outside(wait, thread);
}

}  // namespace swipr::agent
