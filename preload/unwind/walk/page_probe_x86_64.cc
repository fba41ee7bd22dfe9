#include <asm/unistd.h>

#include <cerrno>

#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::unwind {

bool is_page_readable(std::uint64_t page) noexcept {
  constexpr int kInvalidHow = ~0;
  constexpr long kKernelSetBytes = 8;  // _NSIG / 8: any other size is EINVAL before the copy
  long result = __NR_rt_sigprocmask;
  register long set_bytes asm("r10") = kKernelSetBytes;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(long{kInvalidHow}), "S"(page), "d"(0L), "r"(set_bytes)
               : "rcx", "r11", "memory");
  return result == -EINVAL;
}

}  // namespace swipr::unwind
