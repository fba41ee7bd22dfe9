// Locks that blocked threads wait for: who holds them, and when that changes.
#include <linux/futex.h>

#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/sampler.h"

namespace swipr::agent {

// Other uses of futexes can look like a mutex: what is no live thread is not its holder, and
// readers of recordings look for a function of mutexes in the stack.
RuntimeWaitFound Sampler::find_mutex_holder(const Thread& thread, const WaitPlace& wait) noexcept {
  if (wait.holder_address == 0) return {};
  const std::uint64_t value = read_pointer(process_.memory, wait.holder_address);
  const Tid holder{static_cast<std::int32_t>(value & FUTEX_TID_MASK)};
  if (holder.value == 0 || holder == thread.tid || !process_.threads.contains(holder)) return {};
  return {
      .key = {.kind = RuntimeWait::kMutex, .holder_tid = static_cast<std::uint32_t>(holder.value)},
      .note = {wait.holder_address, value}};
}

// A thread that sleeps does not see its lock pass from one holder to the next: its stack is taken
// anew. What lies beside the holder may change, too; a look too many does no harm.
bool Sampler::has_other_holder(const RecordedThread& known) noexcept {
  const HolderNote& note = known.looks.holder;
  return note.address != 0 && read_pointer(process_.memory, note.address) != note.value;
}

}  // namespace swipr::agent
