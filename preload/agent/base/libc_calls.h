// Functions that glibc 2.17 has in another library or by another name than the glibc of the build:
// called directly, they would keep a program with an older glibc from starting
// (docs/design/66-old-c-libraries.md). Arguments, results and errno as in libc.
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace swipr::libc {

// Context: any.
int stat(const char* path, struct stat* status) noexcept;
int lstat(const char* path, struct stat* status) noexcept;
int fstat(int fd, struct stat* status) noexcept;
pid_t gettid() noexcept;

// Context: not in a handler. In glibc before 2.34, the first call may load libdl. RTLD_NEXT means
// next after swipr's library.
void* dlopen(const char* file, int mode) noexcept;
void* dlsym(void* library, const char* name) noexcept;
int dlclose(void* library) noexcept;
char* dlerror() noexcept;
int dladdr(const void* address, Dl_info* info) noexcept;

// A detached thread. In glibc before 2.34, loads libpthread if the program has not.
// Context: not in a handler.  Errors: errno values; ENOSYS: libc has no threads.
int start_thread(void* (*routine)(void*), void* argument, std::size_t stack_bytes) noexcept;

}  // namespace swipr::libc
