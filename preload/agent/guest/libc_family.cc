#include "preload/agent/guest/libc_family.h"

#include "preload/agent/base/libc_calls.h"
#include "preload/handler/signals/disposition.h"

// The functions behind glibc's pthread_atfork and at_quick_exit, which are linked statically.
extern "C" [[gnu::weak]] int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                               void* library) noexcept;
extern "C" [[gnu::weak]] int __cxa_at_quick_exit(void (*function)(void*), void* library) noexcept;
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace swipr::agent {

namespace {

template <typename Function>
Function* find_in_musl(const char* name) noexcept {
  return reinterpret_cast<Function*>(libc::dlsym(RTLD_NEXT, name));
}

constinit Action* at_quick_exit_action = nullptr;

}  // namespace

bool is_musl() noexcept { return &::__register_atfork == nullptr; }

void find_wrapped_functions() noexcept {
  if (is_musl()) handler::use_sigaction(find_in_musl<handler::SigactionFunction>("sigaction"));
}

void call_at_fork(Action* prepare, Action* in_parent, Action* in_child) noexcept {
  if (!is_musl()) {
    ::__register_atfork(prepare, in_parent, in_child, __dso_handle);
  } else if (auto* const atfork = find_in_musl<int(Action*, Action*, Action*)>("pthread_atfork")) {
    atfork(prepare, in_parent, in_child);
  }
}

void call_at_quick_exit(Action* action) noexcept {
  if (&::__cxa_at_quick_exit != nullptr) {
    at_quick_exit_action = action;
    ::__cxa_at_quick_exit([](void*) { at_quick_exit_action(); }, __dso_handle);
  } else if (auto* const at_quick_exit = find_in_musl<int(Action*)>("at_quick_exit")) {
    at_quick_exit(action);
  }
}

}  // namespace swipr::agent
