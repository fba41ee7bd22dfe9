#include "preload/agent/guest/thread_count.h"

#include "preload/agent/base/libc_calls.h"

namespace swipr::agent::thread_count {

namespace {
// `unsigned int __nptl_nthreads`, shown to debuggers (libthread_db), changed by atomic operations
// only. Source: glibc, nptl/pthread_create.c (start_thread), csu/libc-start.c, sysdeps/nptl/fork.h.
unsigned* count = nullptr;
}  // namespace

void find() noexcept {
  count = static_cast<unsigned*>(libc::dlsym(RTLD_NEXT, "__nptl_nthreads"));
  // This runs in a thread of the program.
  if (count != nullptr && __atomic_load_n(count, __ATOMIC_SEQ_CST) == 0) count = nullptr;
}

bool leave() noexcept {
  if (count == nullptr || __atomic_sub_fetch(count, 1, __ATOMIC_SEQ_CST) != 0) return true;
  come_back();
  return false;
}

void come_back() noexcept {
  if (count != nullptr) __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
}

}  // namespace swipr::agent::thread_count
