// Entries of artificial threads that only wait.
#include "preload/agent/record/accounts/task_waits.h"
#include "preload/agent/record/accounts/thread_accounts.h"
#include "preload/agent/record/stream/growth.h"

namespace swipr::agent {

bool ThreadAccounts::write_task(std::uint32_t& thread, std::string_view name, std::uint32_t stack,
                                std::int64_t wall_ns) noexcept {
  const bool is_new = thread == TaskWaits::kUnknownThread;
  const std::uint32_t index = is_new ? next_index_ : thread;
  const wire::ThreadRecord introduced{
      .thread_index = index, .tid = 0, .start_ns = growth(0, tick_ns_), .name = name};
  const wire::SampleEntry sample{.thread_index = index,
                                 .state = wire::ThreadState::kBlocked,
                                 .stack_id = stack,
                                 .wall_ns = growth(0, wall_ns),
                                 .ticks = 1};
  const auto encode = [&](wire::Encoder& out) {
    stream_.settle_definition(stack, false);
    if (is_new) wire::encode(out, introduced);
    stream_.define(out, stack);
    wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
    tick.put(sample, false, false);
    tick.end();
  };
  const bool written = stream_.define_ahead(stack) && stream_.put(encode);
  stream_.settle_definition(stack, written);
  if (!written) {
    ++counters_.samples_dropped;
    return false;
  }
  record_ns_ = tick_ns_;
  thread = index;
  if (is_new) ++next_index_;
  ++counters_.samples;
  if (stack == 0) ++counters_.stacks_missing;
  return true;
}

}  // namespace swipr::agent
