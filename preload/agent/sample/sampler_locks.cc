// Locks that blocked threads wait for: who holds them, and when that changes.
#include <linux/futex.h>

#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/sampler.h"

namespace swipr::agent {

// Other uses of futexes can look like a lock: what is no live thread is not its holder, and readers
// of recordings look for a function of such locks in the stack.
RuntimeWaitFound Sampler::find_lock_holder(const Thread& thread, const WaitPlace& wait) noexcept {
  if (wait.holder_address == 0) return {};
  const std::uint64_t value = read_pointer(process_.memory, wait.holder_address);
  const Tid holder{static_cast<std::int32_t>(value & FUTEX_TID_MASK)};
  const HolderNote note{wait.holder_address, value};
  const bool is_rwlock = wait.is_rwlock();
  if (holder.value == 0 || holder == thread.tid || !process_.threads.contains(holder)) {
    // A writer may wait for readers first, and the others behind it sleep on when it gets the lock.
    return {.key = {}, .note = is_rwlock ? note : HolderNote{}};
  }
  return {.key = {.kind = is_rwlock ? RuntimeWait::kRwlock : RuntimeWait::kMutex,
                  .holder_tid = static_cast<std::uint32_t>(holder.value)},
          .note = note,
          .lock = wait.lock_address()};
}

// A thread that sleeps does not see its lock pass from one holder to the next: its stack is taken
// anew. What lies beside the holder may change, too; a look too many does no harm.
bool Sampler::has_other_holder(const RecordedThread& known) noexcept {
  const HolderNote& note = known.looks.holder;
  return note.address != 0 && read_pointer(process_.memory, note.address) != note.value;
}

}  // namespace swipr::agent
