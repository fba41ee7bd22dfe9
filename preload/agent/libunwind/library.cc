#include "preload/agent/libunwind/library.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/agent/base/libc_calls.h"

namespace swipr::agent::libunwind {

namespace {

template <typename Function>
bool find(void* library, const char* name, Function*& out, TextWriter& why) noexcept {
  out = reinterpret_cast<Function*>(libc::dlsym(library, name));
  if (out == nullptr && why.empty()) why.append("it lacks ").append(name);
  return out != nullptr;
}

}  // namespace

constinit std::atomic<int> AtWork::worker{0};

AtWork::AtWork() noexcept { worker.store(static_cast<int>(::syscall(SYS_gettid))); }

bool AtWork::is_of_this_thread() noexcept {
  const int tid = worker.load(std::memory_order_relaxed);
  return tid != 0 && tid == static_cast<int>(::syscall(SYS_gettid));
}

bool keeps_mask() noexcept {
  constexpr std::uint64_t kWakeSignal = std::uint64_t{1} << (32 - 1);
  constexpr std::size_t kKernelBytes = 8;
  std::uint64_t blocked = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, kKernelBytes);
  if ((blocked & kWakeSignal) == 0) return true;  // there is nothing to keep
  Dl_info wrapper;
  Dl_info own;
  return libc::dladdr(libc::dlsym(RTLD_DEFAULT, "sigprocmask"), &wrapper) != 0 &&
         libc::dladdr(reinterpret_cast<void*>(&load_library), &own) != 0 &&
         wrapper.dli_fbase == own.dli_fbase;
}

bool load_library(Library& out, TextWriter& why) noexcept {
  return load_library_from("libunwind-x86_64.so.8", out, why);
}

bool load_library_from(const char* file, Library& out, TextWriter& why) noexcept {
  why.clear();
  const AtWork at_work_now;
  void* const library = libc::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = libc::dlerror();
    why.append(error == nullptr ? "dlopen fails" : error);
    return false;
  }
  return find(library, "_Ux86_64_create_addr_space", out.create_addr_space, why) &&
         find(library, "_Ux86_64_set_caching_policy", out.set_caching_policy, why) &&
         find(library, "_Ux86_64_flush_cache", out.flush_cache, why) &&
         find(library, "_Ux86_64_init_remote", out.init_remote, why) &&
         find(library, "_Ux86_64_step", out.step, why) &&
         find(library, "_Ux86_64_get_reg", out.get_reg, why) &&
         find(library, "_Ux86_64_is_signal_frame", out.is_signal_frame, why) &&
         find(library, "_Ux86_64_dwarf_search_unwind_table", out.search_table, why);
}

}  // namespace swipr::agent::libunwind
