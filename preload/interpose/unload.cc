// dlclose unmaps code: not while functions are being attached or detached, and these wait until it
// has returned.
#include "preload/interpose/next.h"
#include "preload/trace/gate/gate.h"

namespace {

constinit swipr::interpose::Next<int(void*)> next_dlclose{"dlclose"};

[[gnu::constructor]] void find_dlclose() { next_dlclose.find(); }

class NoGate {
 public:
  NoGate() noexcept { swipr::trace::before_fork(); }
  ~NoGate() { swipr::trace::after_fork_in_parent(); }
  NoGate(const NoGate&) = delete;
  NoGate& operator=(const NoGate&) = delete;
};

}  // namespace

SWIPR_EXPORTED int dlclose(void* library) {
  const NoGate no_gate;
  if (auto* const next = next_dlclose.find_once(); next != nullptr) return next(library);
  // Before glibc 2.34 a library that is not in the global scope may be all that has libdl.
  return swipr::libc::dlclose_of_loader(library);
}
