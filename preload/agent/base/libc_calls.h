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
// The loader's, past every wrapper.
int dlclose_of_loader(void* library) noexcept;
char* dlerror() noexcept;
int dladdr(const void* address, Dl_info* info) noexcept;

// In glibc before 2.34, the next two load libpthread if the program has not.
// Context: not in a handler.

// An address in the library that has pthread_create. nullptr: there is none.
const void* thread_library() noexcept;
// A detached thread.  Errors: errno values; ENOSYS: libc has no threads.
int start_thread(void* (*routine)(void*), void* argument, std::size_t stack_bytes) noexcept;

}  // namespace swipr::libc
