// Machines on which no function can be traced yet: every request is refused before it gets here.
#include "preload/trace/calls/pool.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/search/forbidden_names.h"
#include "preload/trace/search/function_search.h"
#include "preload/trace/traced_function.h"

namespace swipr::trace {

constinit Pool pool{};

GateStatus prepare_gate(int) noexcept { return GateStatus::kUnsupported; }
void answer_gate(std::uint64_t, std::uint64_t&, std::uint64_t) noexcept {}
void before_fork() noexcept {}
void after_fork_in_parent() noexcept {}
void after_fork_in_child() noexcept {}

PoolStatus prepare_pool() noexcept { return PoolStatus::kNoInstructions; }
void add_up(std::uint32_t, Histogram& sum) noexcept { sum = {}; }
std::uint64_t count_calls(std::uint32_t) noexcept { return 0; }
std::uint64_t cost_of_call_ns() noexcept { return 0; }
std::uint32_t open_calls_of(std::uint32_t) noexcept { return 0; }
void follow_fork() noexcept {}
void reclaim_ended() noexcept {}
void exclude_this_thread() noexcept {}

Refusal TracedFunction::set_up(const Function&, const Plan&, std::uint32_t) noexcept {
  return Refusal::kNoFunction;
}
bool TracedFunction::is_for(const Function&, const Plan&) const noexcept { return false; }
GateReport TracedFunction::attach() noexcept { return {.status = GateStatus::kUnsupported}; }
GateReport TracedFunction::detach() noexcept { return {}; }
bool TracedFunction::is_patched(unwind::ImageReader) const noexcept { return false; }

FunctionSearch::~FunctionSearch() {}
Refusal FunctionSearch::find(std::uint64_t, CalledFunctions, Plan&) noexcept {
  return Refusal::kNoFunction;
}
const char* refusal_text(Refusal) noexcept { return ""; }
const char* find_hindrance(const unwind::BuildResult&, unwind::ImageReader) noexcept {
  return nullptr;
}

}  // namespace swipr::trace
