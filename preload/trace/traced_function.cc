#include "preload/trace/traced_function.h"

#include <sys/mman.h>

#include <cstring>

#include "preload/trace/calls/pool.h"
#include "preload/trace/near_page.h"
#include "preload/trace/places.h"
#include "preload/trace/stub.h"

namespace swipr::trace {

namespace {

constexpr std::size_t kPageBytes = 4096;

}  // namespace

Refusal TracedFunction::set_up(const Function& function, const Plan& plan,
                               std::uint32_t probe) noexcept {
  if (plan.end > kMostBeginBytes) return Refusal::kTooFar;
  const std::uint64_t page = map_page_near(function.address);
  if (page == 0) return Refusal::kTooFar;
  auto* const memory = reinterpret_cast<std::uint8_t*>(page);
  std::array<std::uint8_t, Plan::kMostCopyBytes> code;
  const Refusal refusal = build_copy(plan, function, page + kCopyAt, code);
  std::memset(memory, kTrapByte, kPageBytes);
  std::memcpy(memory + kCopyAt, code.data(), bytes_of_copy(plan));
  write_stub(memory, function, plan, probe);
  if (refusal != Refusal::kNone || !set_up_probe(probe, page + kCopyAt) ||
      ::mprotect(memory, kPageBytes, PROT_READ | PROT_EXEC) != 0) {
    ::munmap(memory, kPageBytes);
    return Refusal::kTooFar;
  }
  plan_ = plan;
  stub_ = page;
  copy_ = page + kCopyAt;
  probe_ = probe;
  std::memcpy(original_, function.code.data() + plan.patch_at, sizeof original_);
  std::memcpy(begin_, function.code.data(), plan.end);
  place(probe, {.plan = &plan_, .stub = stub_, .copy = copy_, .original = original_});
  return Refusal::kNone;
}

bool TracedFunction::is_for(const Function& function, const Plan& plan) const noexcept {
  return !is_gone_ && stub_ != 0 && plan.function == plan_.function &&
         plan.patch_at == plan_.patch_at && plan.end == plan_.end &&
         std::memcmp(begin_, function.code.data(), plan.end) == 0;
}

void TracedFunction::enable(bool is_enabled) noexcept {
  pool.probes[probe_].enabled.store(is_enabled ? 1 : 0);
}

void TracedFunction::note(const GateReport& report) noexcept {
  if (report.status != GateStatus::kGone) return;
  is_gone_ = true;
  displace(probe_);  // its bytes are not read again: another module may be there
}

GateReport TracedFunction::attach() noexcept {
  if (stub_ == 0 || is_gone_) return {.status = GateStatus::kGone};
  enable(true);
  if (is_attached_) return {};
  const GateReport report = open_patch(patch());
  is_attached_ = report.status == GateStatus::kDone;
  if (!is_attached_) enable(false);
  note(report);
  return report;
}

GateReport TracedFunction::detach() noexcept {
  if (!is_attached_) return {};
  enable(false);
  const GateReport report = close_patch(patch());
  is_attached_ = report.status != GateStatus::kDone && report.status != GateStatus::kGone;
  note(report);
  return report;
}

bool TracedFunction::is_patched(unwind::ImageReader reader) const noexcept {
  std::uint8_t last = 0;
  return reader.read_value(plan_.patch() + kOpcodeAt, last) && is_jump_opcode(last);
}

bool TracedFunction::is_as_before() const noexcept {
  return std::memcmp(reinterpret_cast<const void*>(plan_.patch()), original_, sizeof original_) ==
         0;
}

}  // namespace swipr::trace
