// Changes code that other threads may be executing, on aarch64.
//
//   Only B, BL, NOP, BRK and a few others may be replaced while another processor executes them;
//   for any other instruction, what happens is unpredictable (Arm ARM, B2.2.5). So no instruction
//   is written where it is executed. The page is copied, the copy is changed, and the kernel moves
//   it over the page (mremap), as it does itself when it breaks sharing or sets uprobes. Processors
//   fetch from the old page or from the new one; a thread that meets the moment in between waits in
//   its page fault.
//
// One instruction changes, so no thread can be inside of it: none is asked, stopped or signalled.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/gate/fork_lock.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/gate/mapped_page.h"

namespace swipr::trace {

namespace {

constexpr std::uint64_t kDeadlineNs = 1'000'000'000;

std::uint32_t word_from(const std::uint8_t* bytes) noexcept {
  return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

// b stub
std::uint32_t jump_of(const Patch& patch) noexcept {
  const std::uint64_t distance = patch.stub - patch.plan->patch();
  return 0x14000000 | (static_cast<std::uint32_t>(distance >> 2) & 0x3ffffff);
}

// `to` at the patch, where `from` has to be.
GateStatus exchange(const Plan& plan, std::uint32_t from, std::uint32_t to,
                    bool any_file) noexcept {
  PageCopy copy;
  const CopyStatus status = copy_page(plan.patch(), any_file, copy);
  if (status == CopyStatus::kUnreadable) return GateStatus::kGone;
  if (status == CopyStatus::kNotMapped) return GateStatus::kNotWritable;
  auto* const word =
      reinterpret_cast<volatile std::uint32_t*>(copy.address + plan.patch() % copy.bytes);
  GateStatus result = GateStatus::kDone;
  if (*word == to) {
    drop(copy);
  } else if (*word != from) {
    drop(copy);
    result = GateStatus::kGone;
  } else {
    *word = to;
    if (!move_over(copy, plan.patch())) {
      drop(copy);
      result = GateStatus::kNotWritable;
    }
    synchronise();
  }
  return result;
}

GateReport change(const Patch& patch, bool opens) noexcept {
  const std::uint64_t begin = now_ns();
  if (!wait_for_forks(begin + (opens ? kDeadlineNs : kForksNs))) {
    return {.status = GateStatus::kForking};
  }
  const std::uint32_t original = word_from(patch.original);
  const std::uint32_t jump = jump_of(patch);
  GateReport report;
  report.status = exchange(*patch.plan, opens ? original : jump, opens ? jump : original, !opens);
  let_fork();
  report.duration_ns = now_ns() - begin;
  return report;
}

}  // namespace

GateStatus prepare_gate(int) noexcept {
  const long registered =
      machine::raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0);
  std::uint64_t read = 0;
  iovec local{&read, sizeof read};
  iovec remote{&local, sizeof read};
  const long bytes = machine::raw_syscall(SYS_process_vm_readv, machine::raw_syscall(SYS_getpid),
                                          address_of(&local), 1, address_of(&remote), 1, 0);
  return registered == 0 && bytes == static_cast<long>(sizeof read) ? GateStatus::kDone
                                                                    : GateStatus::kUnsupported;
}

GateReport open_patch(const Patch& patch) noexcept { return change(patch, true); }
GateReport close_patch(const Patch& patch) noexcept { return change(patch, false); }

void answer_gate(std::uint64_t, std::uint64_t&, std::uint64_t) noexcept {}

}  // namespace swipr::trace
