#include "preload/agent/guest/thread_sanitizer.h"

#include "preload/agent/base/libc_calls.h"

namespace swipr::agent::thread_sanitizer {

namespace {

using Annotation = void (*)(void*);
Annotation annotate_release = nullptr;
Annotation annotate_acquire = nullptr;
char order = 0;  // its address identifies the synchronisation

Annotation find_annotation(const char* name) noexcept {
  return reinterpret_cast<Annotation>(libc::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

// Source: compiler-rt, include/sanitizer/tsan_interface.h.
void find() noexcept {
  annotate_release = find_annotation("__tsan_release");
  annotate_acquire = find_annotation("__tsan_acquire");
}

bool is_present() noexcept { return annotate_release != nullptr && annotate_acquire != nullptr; }

void release() noexcept {
  if (is_present()) annotate_release(&order);
}

void acquire() noexcept {
  if (is_present()) annotate_acquire(&order);
}

}  // namespace swipr::agent::thread_sanitizer
