#include "preload/agent/guest/thread_count.h"

#include <cstdint>

#include "preload/agent/base/file_symbol.h"
#include "preload/agent/base/libc_calls.h"

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

bool leave() noexcept {
  if (count == nullptr || __atomic_sub_fetch(count, 1, __ATOMIC_SEQ_CST) != 0) return true;
  come_back();
  return false;
}

void come_back() noexcept {
  if (count != nullptr) __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
}

}  // namespace swipr::agent::thread_count
