// exec replaces the program, including this library: the data recorded so far is sent first.
// Recordings continue, so that nothing has to be resumed if exec fails; if it succeeds, their
// streams end after a complete block. Children of vfork are not delayed.
#include <stdarg.h>
#include <unistd.h>

#include "preload/interpose/argument_list.h"
#include "preload/interpose/next.h"
#include "preload/interpose/replace_image.h"

namespace {

using swipr::interpose::copy_list;
using swipr::interpose::count_list;
using swipr::interpose::Next;
using swipr::interpose::replace_image;
using Vector = char* const*;
constinit Next<int(const char*, Vector, Vector)> next_execve("execve");
constinit Next<int(const char*, Vector)> next_execv("execv");
constinit Next<int(const char*, Vector)> next_execvp("execvp");
constinit Next<int(const char*, Vector, Vector)> next_execvpe("execvpe");
constinit Next<int(int, Vector, Vector)> next_fexecve("fexecve");
constinit Next<int(int, const char*, Vector, Vector, int)> next_execveat("execveat");

[[gnu::constructor]] void find_all() noexcept {
  next_execve.find();
  next_execv.find();
  next_execvp.find();
  next_execvpe.find();
  next_fexecve.find();
  next_execveat.find();
}

}  // namespace

// Makes an array from an argument list on the caller's stack, as libc does: exec must not allocate.
#define SWIPR_ARRAY_OF_LIST(array, first, rest)                                                   \
  va_start(rest, first);                                                                          \
  auto** array = static_cast<char**>(__builtin_alloca(count_list(first, &rest) * sizeof(char*))); \
  copy_list(first, &rest, array)

SWIPR_EXPORTED int execve(const char* path, Vector arguments, Vector environment) noexcept {
  return replace_image([=] { return next_execve(path, arguments, environment); });
}

SWIPR_EXPORTED int execv(const char* path, Vector arguments) noexcept {
  return replace_image([=] { return next_execv(path, arguments); });
}

SWIPR_EXPORTED int execvp(const char* file, Vector arguments) noexcept {
  return replace_image([=] { return next_execvp(file, arguments); });
}

SWIPR_EXPORTED int execvpe(const char* file, Vector arguments, Vector environment) noexcept {
  return replace_image([=] { return next_execvpe(file, arguments, environment); });
}

SWIPR_EXPORTED int fexecve(int fd, Vector arguments, Vector environment) noexcept {
  return replace_image([=] { return next_fexecve(fd, arguments, environment); });
}

SWIPR_EXPORTED int execveat(int folder, const char* path, Vector arguments, Vector environment,
                            int flags) noexcept {
  return replace_image([=] { return next_execveat(folder, path, arguments, environment, flags); });
}

SWIPR_EXPORTED int execl(const char* path, const char* argument, ...) noexcept {
  va_list rest;
  SWIPR_ARRAY_OF_LIST(arguments, argument, rest);
  va_end(rest);
  return execv(path, arguments);
}

SWIPR_EXPORTED int execlp(const char* file, const char* argument, ...) noexcept {
  va_list rest;
  SWIPR_ARRAY_OF_LIST(arguments, argument, rest);
  va_end(rest);
  return execvp(file, arguments);
}

SWIPR_EXPORTED int execle(const char* path, const char* argument, ...) noexcept {
  va_list rest;
  SWIPR_ARRAY_OF_LIST(arguments, argument, rest);
  const auto environment = va_arg(rest, Vector);
  va_end(rest);
  return execve(path, arguments, environment);
}
