#include <asm/unistd.h>

#include <cerrno>

#include "preload/machine/raw_syscall.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::unwind {

bool is_page_readable(std::uint64_t page) noexcept {
  constexpr long kInvalidHow = ~0;
  constexpr long kKernelSetBytes = 8;  // _NSIG / 8: any other size is EINVAL before the copy
  return machine::raw_syscall(__NR_rt_sigprocmask, kInvalidHow, static_cast<long>(page), 0,
                              kKernelSetBytes) == -EINVAL;
}

}  // namespace swipr::unwind
