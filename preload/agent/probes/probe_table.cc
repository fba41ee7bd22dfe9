#include "preload/agent/probes/probe_table.h"

#include <algorithm>

#include "preload/agent/base/log.h"
#include "preload/agent/probes/permission.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/search/forbidden_names.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;
using wire::ProbeReason;

constexpr std::chrono::milliseconds kRetryInterval{100};

void refuse(ProbeAnswer& answer, ProbeReason reason, std::string_view text) noexcept {
  answer.reason = reason;
  answer.text.clear();
  answer.text.append(text);
}

const char* text_of(trace::PoolStatus status) noexcept {
  switch (status) {
    case trace::PoolStatus::kReady:
      return nullptr;
    case trace::PoolStatus::kNoMemory:
      return "there is no memory for tracing";
    case trace::PoolStatus::kNotExecutable:
      return kNotWritable;
    case trace::PoolStatus::kNoClock:
      return "the processor's time stamp counter stops, or changes its rate";
    case trace::PoolStatus::kNoInstructions:
      break;
  }
  return trace::kLacksInstructions;
}

// Its mapping, and that of the function's first byte.
const Module* find_module(const wire::ProbeRequest& wanted, const ModuleMap& modules) noexcept {
  for (const Module& module : modules.modules()) {
    const Image* const image = module.id == 0 || module.gone ? nullptr : modules.image_of(module);
    if (image == nullptr) continue;
    const unwind::BuildResult& described = image->described;
    const std::uint64_t address = described.load_bias + wanted.image_address;
    if (!Range<std::uint64_t>{module.start, module.end}.contains(address)) continue;
    const bool is_it = wanted.path.empty()
                           ? wire::is_build_id(wanted.build_id, std::span(described.build_id,
                                                                          described.build_id_bytes))
                           : modules.path_of(module) == wanted.path;
    if (is_it) return &module;
  }
  return nullptr;
}

// Of the image's code, up to `out`.
std::span<const Range<std::uint64_t>> code_of(const Image& image, const ModuleMap& modules,
                                              std::span<Range<std::uint64_t>> out) noexcept {
  std::size_t count = 0;
  for (const Module& module : modules.modules()) {
    if (module.id == 0 || module.gone || modules.image_of(module) != &image) continue;
    if (count == out.size()) return {};
    out[count++] = {module.start, module.end};
  }
  return out.first(count);
}

void refuse_gate(const trace::GateReport& report, ProbeAnswer& answer) noexcept {
  switch (report.status) {
    case trace::GateStatus::kNotWritable:
      return refuse(answer, ProbeReason::kProcess, kNotWritable);
    case trace::GateStatus::kForking:
      return refuse(answer, ProbeReason::kBusy, "the program forked continuously");
    case trace::GateStatus::kTooManyThreads:
      return refuse(answer, ProbeReason::kLimit, "the process has more than 8192 threads");
    case trace::GateStatus::kRealTime:
      refuse(answer, ProbeReason::kProcess, "thread ");
      answer.text.append_number(static_cast<std::uint64_t>(report.thread));
      answer.text.append(" has a real-time scheduling policy");
      return;
    case trace::GateStatus::kNotReached:
      refuse(answer, ProbeReason::kBusy, "thread ");
      answer.text.append_number(static_cast<std::uint64_t>(report.thread));
      answer.text.append(" did not answer within a second");
      return;
    case trace::GateStatus::kGone:
      return refuse(answer, ProbeReason::kModuleGone, "its code was unmapped or has changed");
    default:
      return refuse(answer, ProbeReason::kProcess, kNoCalls);
  }
}

}  // namespace

const char* ProbeTable::prepare(const ModuleMap& modules, ProcMemory& memory, int signal) noexcept {
  if (signal == 0) return "swipr's signal handler cannot be installed";
  if (!memory.is_open()) return "the process cannot read its own memory";
  if (const char* const refusal = find_refusal_of_kernel(); refusal != nullptr) return refusal;
  for (const Module& module : modules.modules()) {
    const Image* const image = module.id == 0 || module.gone ? nullptr : modules.image_of(module);
    if (image == nullptr) continue;
    const char* const refusal = trace::find_hindrance(image->described, memory.image_reader());
    if (refusal != nullptr) return refusal;
  }
  trace::exclude_this_thread();
  if (const char* const refusal = text_of(trace::prepare_pool()); refusal != nullptr) {
    return refusal;
  }
  return trace::prepare_gate(signal) == trace::GateStatus::kDone ? nullptr : kNoCalls;
}

ProbeTable::Entry* ProbeTable::find_or_add(const trace::Function& function, const trace::Plan& plan,
                                           ProbeAnswer& answer) noexcept {
  for (std::uint32_t index = 0; index < count_; ++index) {
    if (entries_[index].function.is_for(function, plan)) return &entries_[index];
  }
  if (count_ == entries_.size()) {
    refuse(answer, ProbeReason::kLimit, "256 functions of this process were traced already");
    return nullptr;
  }
  Entry& entry = entries_[count_];
  const trace::Refusal refusal = entry.function.set_up(function, plan, count_);
  if (refusal != trace::Refusal::kNone) {
    refuse(answer, ProbeReason::kFunction, trace::refusal_text(refusal));
    return nullptr;
  }
  ++count_;
  return &entry;
}

std::uint64_t address_of(const wire::ProbeRequest& place, const ModuleMap& modules) noexcept {
  const Module* const module = find_module(place, modules);
  if (module == nullptr) return 0;
  return modules.image_of(*module)->described.load_bias + place.image_address;
}

void ProbeTable::add(const wire::ProbeRequest& wanted, std::span<const std::uint64_t> sites,
                     const ModuleMap& modules, ProcMemory& memory, ProbeAnswer& answer) noexcept {
  const Module* const module = find_module(wanted, modules);
  if (module == nullptr) {
    return refuse(answer, ProbeReason::kNotFound, "the process has not mapped this file");
  }
  const Image& image = *modules.image_of(*module);
  if (is_own_image(image.header)) {
    return refuse(answer, ProbeReason::kProcess, "it is a function of swipr");
  }
  std::array<Range<std::uint64_t>, 64> ranges;
  const auto code = code_of(image, modules, ranges);
  trace::FunctionSearch search(image.described, code, memory.image_reader());
  trace::Plan plan;
  const trace::Refusal refusal =
      code.empty() ? trace::Refusal::kNoFunction
                   : search.find(wanted.image_address, functions_of_handlers(), plan);
  answer.address = search.function().address;
  answer.size_bytes = search.function().code.size();
  if (refusal != trace::Refusal::kNone) {
    const bool is_missing = refusal == trace::Refusal::kNoFunction;
    return refuse(answer, is_missing ? ProbeReason::kNotFound : ProbeReason::kFunction,
                  trace::refusal_text(refusal));
  }
  Entry* const entry = find_or_add(search.function(), plan, answer);
  if (entry == nullptr) return;
  entry->image = image.header;
  attach(*entry, sites, answer);
}

void ProbeTable::attach(Entry& entry, std::span<const std::uint64_t> sites,
                        ProbeAnswer& answer) noexcept {
  const std::uint32_t probe = entry.function.probe();
  if (entry.users == 0) trace::set_sites(probe, sites);
  if (!trace::has_sites(probe, sites)) {
    return refuse(answer, ProbeReason::kBusy, "another client measures its calls, from elsewhere");
  }
  const trace::GateReport report = entry.function.attach();
  if (report.status == trace::GateStatus::kNotReached && report.signalled != 0) {
    has_left_signals_ = true;
  }
  if (report.status != trace::GateStatus::kDone) return refuse_gate(report, answer);
  ++entry.users;
  answer.probe = entry.function.probe();
}

void ProbeTable::detach(Entry& entry) noexcept {
  entry.function.detach();
  if (!entry.function.is_attached()) return;
  needs_retry_ = true;
  retry_at_ = monotonic_now() + kRetryInterval;
}

void ProbeTable::remove(std::uint32_t probe) noexcept {
  Entry& entry = entries_[probe];
  if (entry.users == 0 || --entry.users != 0) return;
  detach(entry);
}

// A mapping is split where code was made writable, so it does not have to be the one that it was.
// The same library may have been loaded again.
bool ProbeTable::is_gone(std::uint32_t probe, const ModuleMap& modules,
                         ProcMemory& memory) const noexcept {
  const Entry& entry = entries_[probe];
  const std::uint64_t address = entry.function.function();
  for (const Module& module : modules.modules()) {
    const Image* const image = module.id == 0 || module.gone ? nullptr : modules.image_of(module);
    if (image == nullptr || image->header != entry.image) continue;
    if (Range<std::uint64_t>{module.start, module.end}.contains(address)) {
      return !entry.function.is_patched(memory.image_reader());
    }
  }
  return true;
}

void ProbeTable::retry(Moment now) noexcept {
  if (now < retry_at()) return;
  needs_retry_ = false;
  if (count_ != 0 && trace::prepare_gate(0) != trace::GateStatus::kDone) return;
  for (std::uint32_t index = 0; index < count_; ++index) {
    Entry& entry = entries_[index];
    if (entry.users == 0 && entry.function.is_attached()) detach(entry);
  }
}

void ProbeTable::forget_users() noexcept {
  has_left_signals_ = false;
  if (count_ == 0) return;
  trace::follow_fork();
  for (std::uint32_t index = 0; index < count_; ++index) {
    entries_[index].users = 0;
    entries_[index].function.doubt_after_fork();
  }
  needs_retry_ = true;
  retry_at_ = Moment{0};
}

ProbeTable& probe_table() noexcept {
  static constinit ProbeTable table;
  return table;
}

}  // namespace swipr::agent
