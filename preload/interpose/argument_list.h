// Argument lists of execl, execlp and execle, as arrays. Context: the program's thread; also the
// child of a vfork. Allocates: never.
#pragma once

#include <stdarg.h>

#include <cstddef>

namespace swipr::interpose {

// Number of pointers in an argument list, including the null pointer at its end. A list may be
// empty: then `first` is that pointer. `rest` is not advanced.
inline std::size_t count_list(const char* first, va_list* rest) noexcept {
  va_list copy;
  va_copy(copy, *rest);
  std::size_t count = 1;
  for (const char* argument = first; argument != nullptr; ++count) {
    argument = va_arg(copy, const char*);
  }
  va_end(copy);
  return count;
}

// Copies the list to `out` and advances `rest` past it. A pointer, because a va_list that was
// passed by value is indeterminate in the caller (C11, 7.16p3): on aarch64 it is not advanced.
inline void copy_list(const char* first, va_list* rest, char** out) noexcept {
  for (const char* argument = first;; argument = va_arg(*rest, const char*)) {
    *out++ = const_cast<char*>(argument);
    if (argument == nullptr) return;
  }
}

}  // namespace swipr::interpose
