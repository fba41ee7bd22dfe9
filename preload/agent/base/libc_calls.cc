#include "preload/agent/base/libc_calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/machine/c_library.h"

// Functions of libdl and libpthread, which glibc 2.34 moved into libc under a new version, by the
// version that they had before. Weak: they are missing where a program has not loaded these
// libraries.
#define SWIPR_OLD_VERSION(name, function) \
  __asm__(".symver " #name ", " #function "@" SWIPR_FIRST_GLIBC)

extern "C" {
[[gnu::weak]] void* swipr_old_dlopen(const char*, int) noexcept;
[[gnu::weak]] void* swipr_old_dlsym(void*, const char*) noexcept;
[[gnu::weak]] int swipr_old_dlclose(void*) noexcept;
[[gnu::weak]] char* swipr_old_dlerror() noexcept;
[[gnu::weak]] int swipr_old_dladdr(const void*, Dl_info*) noexcept;
[[gnu::weak]] int swipr_old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                                           void*) noexcept;
[[gnu::weak]] int swipr_old_pthread_attr_setstacksize(pthread_attr_t*, std::size_t) noexcept;
SWIPR_OLD_VERSION(swipr_old_dlopen, dlopen);
SWIPR_OLD_VERSION(swipr_old_dlsym, dlsym);
SWIPR_OLD_VERSION(swipr_old_dlclose, dlclose);
SWIPR_OLD_VERSION(swipr_old_dlerror, dlerror);
SWIPR_OLD_VERSION(swipr_old_dladdr, dladdr);
SWIPR_OLD_VERSION(swipr_old_pthread_create, pthread_create);
SWIPR_OLD_VERSION(swipr_old_pthread_attr_setstacksize, pthread_attr_setstacksize);

// How libc itself loads libraries before 2.34. Source: glibc 2.33, elf/dl-libc.c.
[[gnu::weak]] void* __libc_dlopen_mode(const char* file, int mode) noexcept;
[[gnu::weak]] void* __libc_dlsym(void* library, const char* name) noexcept;

// The functions behind stat(2), which were linked statically before 2.33. Not in every musl.
// Source: glibc 2.32, io/stat.c.
[[gnu::weak]] int __xstat(int version, const char* path, struct stat* status) noexcept;
[[gnu::weak]] int __lxstat(int version, const char* path, struct stat* status) noexcept;
[[gnu::weak]] int __fxstat(int version, int fd, struct stat* status) noexcept;
}

namespace swipr::libc {

namespace {

// Only for this library: what the program finds with dlsym and weak symbols does not change.
void* find_in(const char* library, const char* name) noexcept {
  constexpr int kDlopen = static_cast<int>(0x80000000U);  // __RTLD_DLOPEN
  if (&__libc_dlopen_mode == nullptr || &__libc_dlsym == nullptr) return nullptr;
  void* const handle = __libc_dlopen_mode(library, RTLD_NOW | kDlopen);
  return handle == nullptr ? nullptr : __libc_dlsym(handle, name);
}

// A function of `library`, which is loaded if the program has not done so.
template <typename Function>
class Moved {
 public:
  constexpr Moved(const char* library, const char* name) noexcept
      : library_(library), name_(name) {}

  // `linked`: what the weak symbol found.  nullptr: there is none.
  Function* find(Function* linked) noexcept {
    if (linked != nullptr) return linked;
    if (found_.load() == nullptr) {
      found_.store(reinterpret_cast<Function*>(find_in(library_, name_)));
    }
    return found_.load();
  }

 private:
  const char* library_;
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

constexpr char kLoader[] = "libdl.so.2";
constexpr char kThreads[] = "libpthread.so.0";
constinit Moved<decltype(swipr_old_dlopen)> moved_dlopen{kLoader, "dlopen"};
constinit Moved<decltype(swipr_old_dlsym)> moved_dlsym{kLoader, "dlsym"};
constinit Moved<decltype(swipr_old_dlclose)> moved_dlclose{kLoader, "dlclose"};
constinit Moved<decltype(swipr_old_dlerror)> moved_dlerror{kLoader, "dlerror"};
constinit Moved<decltype(swipr_old_dladdr)> moved_dladdr{kLoader, "dladdr"};
constinit Moved<decltype(swipr_old_pthread_create)> moved_create{kThreads, "pthread_create"};
constinit Moved<decltype(swipr_old_pthread_attr_setstacksize)> moved_setstacksize{
    kThreads, "pthread_attr_setstacksize"};

}  // namespace

int stat(const char* path, struct stat* status) noexcept {
  if (&__xstat != nullptr) return __xstat(machine::kStatVersion, path, status);
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}

int lstat(const char* path, struct stat* status) noexcept {
  if (&__lxstat != nullptr) return __lxstat(machine::kStatVersion, path, status);
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}

int fstat(int fd, struct stat* status) noexcept {
  if (&__fxstat != nullptr) return __fxstat(machine::kStatVersion, fd, status);
  return static_cast<int>(::syscall(SYS_fstat, fd, status));
}

pid_t gettid() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

void* dlopen(const char* file, int mode) noexcept {
  auto* const function = moved_dlopen.find(&swipr_old_dlopen);
  return function == nullptr ? nullptr : function(file, mode);
}

void* dlsym(void* library, const char* name) noexcept {
  auto* const function = moved_dlsym.find(&swipr_old_dlsym);
  return function == nullptr ? nullptr : function(library, name);
}

int dlclose(void* library) noexcept {
  auto* const function = moved_dlclose.find(&swipr_old_dlclose);
  return function == nullptr ? -1 : function(library);
}

int dlclose_of_loader(void* library) noexcept {
  auto* const function = moved_dlclose.find(nullptr);
  return function == nullptr ? -1 : function(library);
}

char* dlerror() noexcept {
  auto* const function = moved_dlerror.find(&swipr_old_dlerror);
  return function == nullptr ? nullptr : function();
}

int dladdr(const void* address, Dl_info* info) noexcept {
  auto* const function = moved_dladdr.find(&swipr_old_dladdr);
  return function == nullptr ? 0 : function(address, info);
}

const void* thread_library() noexcept {
  return reinterpret_cast<const void*>(moved_create.find(&swipr_old_pthread_create));
}

int start_thread(void* (*routine)(void*), void* argument, std::size_t stack_bytes) noexcept {
  auto* const create = moved_create.find(&swipr_old_pthread_create);
  auto* const set_stack_size = moved_setstacksize.find(&swipr_old_pthread_attr_setstacksize);
  if (create == nullptr || set_stack_size == nullptr) return ENOSYS;
  pthread_attr_t attributes;
  if (const int error = ::pthread_attr_init(&attributes); error != 0) return error;
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  set_stack_size(&attributes, stack_bytes);
  pthread_t thread;
  const int error = create(&thread, &attributes, routine, argument);
  ::pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace swipr::libc
