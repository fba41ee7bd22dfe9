#include "preload/agent/guest/thread_count.h"

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "preload/agent/base/file_symbol.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/guest/libc_family.h"
#include "preload/agent/proc/proc_text.h"

namespace swipr::agent::thread_count {

namespace {
// `unsigned int __nptl_nthreads`, shown to debuggers (libthread_db), changed by atomic operations
// only. Source: glibc, nptl/pthread_create.c (start_thread), csu/libc-start.c, sysdeps/nptl/fork.h.
constexpr char kName[] = "__nptl_nthreads";
unsigned* count = nullptr;

// Before glibc 2.34, debuggers find it in the symbol table of libpthread's file.
unsigned* find_in_file() noexcept {
  Dl_info info;
  const void* const library = libc::thread_library();
  if (library == nullptr || libc::dladdr(library, &info) == 0) return nullptr;
  const std::uint64_t value = find_object_in_file(info.dli_fname, kName, sizeof *count);
  if (value == 0) return nullptr;
  return reinterpret_cast<unsigned*>(static_cast<char*>(info.dli_fbase) + value);
}

bool is_glibc_before_2_34() noexcept {
  return libc::dlsym(RTLD_NEXT, "__libc_dlopen_mode") != nullptr;
}
}  // namespace

void find() noexcept {
  count = static_cast<unsigned*>(libc::dlsym(RTLD_NEXT, kName));
  if (count == nullptr && is_glibc_before_2_34()) count = find_in_file();
  // This runs in a thread of the program.
  if (count != nullptr && __atomic_load_n(count, __ATOMIC_SEQ_CST) == 0) count = nullptr;
}

Moment watch_interval() noexcept { return is_musl() ? Moment(std::chrono::seconds(1)) : kNever; }

// The process's main thread stays as a zombie.
bool is_last() noexcept {
  struct stat status {};
  constexpr nlink_t kTwoThreads = 2 + 2;  // kernel, fs/proc/base.c, proc_task_getattr
  if (!is_musl() || libc::stat("/proc/self/task", &status) != 0 || status.st_nlink != kTwoThreads) {
    return false;
  }
  FixedText<64> text;
  if (!read_file_text("/proc/self/stat", text)) return false;
  const std::size_t name_end = text.view().rfind(')');
  return name_end != std::string_view::npos && skip(text.view(), name_end).starts_with(") Z");
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
