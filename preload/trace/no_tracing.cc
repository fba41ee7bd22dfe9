// Machines on which no function can be traced yet: every request is refused before it gets here.
#include "preload/trace/calls/pool.h"
#include "preload/trace/calls/sampled_calls.h"
#include "preload/trace/calls/slow_calls.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/search/forbidden_names.h"
#include "preload/trace/search/function_search.h"
#include "preload/trace/traced_function.h"

namespace swipr::trace {

constinit Pool pool{};
constinit SlowCalls slow_calls{};
constinit SampledCalls sampled_calls{};

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
void reclaim_ended(void (*)(void*, std::size_t) noexcept, void*) noexcept {}
bool add_thread(std::uint32_t, std::size_t, Histogram&) noexcept { return false; }
std::uint64_t cost_of_calls_ns(std::uint32_t) noexcept { return 0; }
void set_sites(std::uint32_t, std::span<const std::uint64_t>) noexcept {}
bool has_sites(std::uint32_t, std::span<const std::uint64_t>) noexcept { return true; }
bool prepare_sampled_calls() noexcept { return false; }
std::uint64_t ns_between(std::uint64_t, std::uint64_t) noexcept { return 0; }
std::uint64_t stamp_now() noexcept { return 0; }
bool prepare_slow_calls(std::uint32_t) noexcept { return false; }
void follow_slow_calls(std::uint32_t, std::uint64_t) noexcept {}
void stop_slow_calls(std::uint32_t) noexcept {}
const SlowCall* find_slow_call(std::size_t) noexcept { return nullptr; }
const std::uint64_t* stack_of(const SlowCall&) noexcept { return nullptr; }
void make_room_for_slow_calls(std::uint64_t) noexcept {}
void free_slow_call(std::size_t) noexcept {}
std::uint64_t end_ns_of(const SlowCall&, std::uint64_t) noexcept { return 0; }
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
  return "functions can be traced on x86-64 only";
}

}  // namespace swipr::trace
