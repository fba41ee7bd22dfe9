// Used by every wrapper: lookup of the wrapped function, and visibility.
#pragma once

#include <atomic>
#include <cerrno>

#include "preload/agent/base/libc_calls.h"

#define SWIPR_EXPORTED extern "C" [[gnu::visibility("default")]]

namespace swipr::interpose {

// The function that the program would have called without this library: libc's, or another
// wrapper's. It is found at load, because most wrappers must work in a signal handler, where dlsym
// is not allowed.
// Context: any.  Errors: -1 and ENOSYS where there is no such function.
template <typename Function>
class Next {
 public:
  constexpr explicit Next(const char* name) noexcept : name_(name) {}
  void find() noexcept {
    function_.store(reinterpret_cast<Function*>(libc::dlsym(RTLD_NEXT, name_)));
  }

  bool is(Function* function) const noexcept { return function_.load() == function; }

  // nullptr: there is none, or a constructor that runs before this library's has called.
  Function* find_once() noexcept {
    if (function_.load() == nullptr) find();
    return function_.load();
  }

  template <typename... Arguments>
  int operator()(Arguments... arguments) noexcept {
    if (Function* const next = find_once(); next != nullptr) return next(arguments...);
    errno = ENOSYS;
    return -1;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

}  // namespace swipr::interpose
