// What a recording writes into its stream.
#include <algorithm>

#include "preload/agent/base/log.h"
#include "preload/agent/record/recording.h"

namespace swipr::agent {

namespace {

// Bounds of one entry and of one frame on the wire: varints of at most 10 bytes.
constexpr std::size_t kEntryBytes = 6 * 10;
constexpr std::size_t kFrameBytes = 11;
constexpr std::size_t kStackBytes = 128;
// Entries and the stacks they need are written in pieces of about this size: big enough to be
// cheap, and small against a block.
constexpr std::size_t kChunkBytes = std::size_t{48} << 10;

std::uint64_t growth(std::int64_t from, std::int64_t to) noexcept {
  return to > from ? static_cast<std::uint64_t>(to - from) : 0;
}

// A thread that does not sleep has run or waited for a CPU all the time, but the clocks are read
// one after the other. Said as a whole (that takes a byte in place of four); the next entry makes
// up for the difference, so that no sum is ever further off than that.
std::uint64_t queued_of(std::uint64_t runqueue_ns, std::uint64_t rest_ns) noexcept {
  constexpr std::uint64_t kBetweenClocks = 50'000;
  const bool whole = runqueue_ns != 0 && rest_ns < runqueue_ns + kBetweenClocks;
  return whole || runqueue_ns > rest_ns ? rest_ns : runqueue_ns;
}

// Static: 32 KiB that only the control thread uses, instead of on its stack. Until the next call.
std::span<const wire::FrameEntry> entries_of(const std::uint64_t* pcs, const std::uint8_t* kinds,
                                             std::uint32_t count) noexcept {
  static wire::FrameEntry frames[wire::kMaxFrames];
  for (std::uint32_t frame = 0; frame < count; ++frame) {
    frames[frame] = {.pc = pcs[frame],
                     .source = static_cast<wire::FrameSource>(kinds[frame] & 3),
                     .exact = (kinds[frame] & 4) != 0};
  }
  return {frames, count};
}

void encode_found(wire::Encoder& out, std::uint64_t id,
                  const libunwind::FoundStack& stack) noexcept {
  const auto frame_count = static_cast<std::uint32_t>(stack.pcs.size());
  const wire::StackRecord record{.stack_id = id,
                                 .flags = stack.flags,
                                 .omitted_at = stack.omitted_at,
                                 .frame_count = frame_count};
  wire::encode(out, record, entries_of(stack.pcs.data(), stack.kinds.data(), frame_count));
}

bool says_nothing(const wire::SampleEntry& sample) noexcept {
  return sample.ticks == 0 && sample.wall_ns == 0 && sample.cpu_ns == 0 && sample.runqueue_ns == 0;
}

}  // namespace

void Recording::write_staged(ThreadList& threads) noexcept {
  std::sort(staged_.begin(), staged_.end(), [](const StagedEntry& left, const StagedEntry& right) {
    if (left.index != right.index) return left.index < right.index;
    if (left.until.wall_ns != right.until.wall_ns) return left.until.wall_ns < right.until.wall_ns;
    return left.ticks > right.ticks;  // what no sample stands for comes last
  });
  for (std::size_t begin = 0; begin < staged_.size();) {
    const std::size_t end = chunk_end(begin);
    bool written = !modules_behind_;
    for (std::size_t at = begin; at < end; ++at)
      written = introduce(staged_[at].place, threads) && written;
    written = written && write_chunk(begin, end);
    settle_definitions(begin, end, written);
    if (written) commit_chunk(begin, end);
    for (std::size_t at = begin; at < end && !written; ++at) {
      counters_.samples_dropped += staged_[at].ticks;
    }
    begin = end;
  }
  staged_.clear();
}

// Writes the thread's record when the stream lacks it or its present name.
bool Recording::introduce(std::uint32_t place, ThreadList& threads) noexcept {
  RecordedThread& known = threads_[place];
  const Thread& thread = threads[place];
  if (thread.generation != known.generation || known.name_version == thread.name_version + 1) {
    return known.name_version != 0;
  }
  const wire::ThreadRecord record{.thread_index = known.index,
                                  .tid = static_cast<std::uint64_t>(thread.tid.value),
                                  .start_ns = growth(0, known.start_ns),
                                  .name = thread.name_text()};
  if (!writer_.put([&record](wire::Encoder& out) { wire::encode(out, record); })) return false;
  known.name_version = thread.name_version + 1;
  return true;
}

void Recording::introduce_all(ThreadList& threads) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    if (threads_[place].generation != 0) introduce(place, threads);
  }
}

std::size_t Recording::chunk_end(std::size_t begin) noexcept {
  std::size_t bytes = 0;
  std::size_t end = begin;
  while (end < staged_.size() && bytes < kChunkBytes) {
    bytes += kEntryBytes;
    const std::uint32_t stack = staged_[end].stack;
    if (stack != 0 && !stacks_.stack(stack).defined) {
      bytes += kStackBytes + kFrameBytes * stacks_.stack(stack).frame_count;
    }
    ++end;
  }
  return end;
}

bool Recording::write_chunk(std::size_t begin, std::size_t end) noexcept {
  return writer_.put([this, begin, end](wire::Encoder& out) { encode_chunk(out, begin, end); });
}

void Recording::encode_chunk(wire::Encoder& out, std::size_t begin, std::size_t end) noexcept {
  settle_definitions(begin, end, false);
  for (std::size_t at = begin; at < end; ++at) {
    if (staged_[at].stack == 0) continue;
    StoredStack& stack = stacks_.stack(staged_[at].stack);
    if (stack.defined || stack.defining) continue;
    encode_stack(out, stack);
    stack.defining = true;
  }
  wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
  const RecordedThread* before = nullptr;
  Accounted from;
  for (std::size_t at = begin; at < end; ++at) {
    const StagedEntry& entry = staged_[at];
    const RecordedThread& thread = threads_[entry.place];
    // A thread's second entry in one tick counts from its first.
    const bool first = before != &thread;
    if (first) from = thread.written;
    const wire::SampleEntry sample = sample_of(entry, from);
    if (says_nothing(sample)) continue;
    const bool same_stack = first ? thread.stream_stack == entry.stack &&
                                        thread.stream_generation == stacks_.generation()
                                  : staged_[at - 1].stack == entry.stack;
    const std::int64_t stream_ns = first ? thread.stream_ns : tick_ns_;
    tick.put(sample, same_stack, sample.wall_ns == growth(stream_ns, tick_ns_));
    before = &thread;
    from = advanced(from, entry, sample);
  }
  tick.end();
}

// Clocks are read after the tick's time, one after the other. What that shows beyond the tick is
// the next entry's: nothing is there twice, and running, queued and blocked are parts of the whole.
wire::SampleEntry Recording::sample_of(const StagedEntry& entry,
                                       const Accounted& from) const noexcept {
  const std::uint64_t cpu = growth(from.cpu_ns, entry.until.cpu_ns);
  const std::uint64_t runqueue = growth(from.runqueue_ns, entry.until.runqueue_ns);
  wire::SampleEntry sample{.thread_index = entry.index,
                           .state = entry.state,
                           .stack_id = entry.stack,
                           .wall_ns = growth(from.wall_ns, entry.until.wall_ns),
                           .ticks = entry.ticks};
  switch (request_.mode) {
    case wire::RecordMode::kWall:
      sample.cpu_ns = std::min(cpu, sample.wall_ns);
      if (entry.part == Part::kCpu) {
        sample.wall_ns = sample.cpu_ns;
        break;
      }
      sample.runqueue_ns = queued_of(runqueue, sample.wall_ns - sample.cpu_ns);
      if (entry.part == Part::kOffCpu) {
        sample.wall_ns -= sample.cpu_ns;
        sample.cpu_ns = 0;
      }
      break;
    case wire::RecordMode::kCpu:
      sample.cpu_ns = sample.wall_ns = cpu;
      break;
    case wire::RecordMode::kOffCpu:
      sample.wall_ns = growth(from.off_cpu_ns, entry.until.off_cpu_ns);
      sample.runqueue_ns = std::min(runqueue, sample.wall_ns);
      break;
  }
  return sample;
}

// The stream's account behind an entry.
Accounted Recording::advanced(const Accounted& from, const StagedEntry& entry,
                              const wire::SampleEntry& sample) noexcept {
  const bool all = entry.part == Part::kAll;
  const bool waits = entry.part != Part::kCpu;
  return {all ? entry.until.wall_ns : from.wall_ns + static_cast<std::int64_t>(sample.wall_ns),
          from.cpu_ns + static_cast<std::int64_t>(sample.cpu_ns),
          from.runqueue_ns + static_cast<std::int64_t>(sample.runqueue_ns),
          waits ? std::max(from.off_cpu_ns, entry.until.off_cpu_ns) : from.off_cpu_ns};
}

// Definitions in the bytes that were written hold; those in bytes that were rolled back do not.
void Recording::settle_definitions(std::size_t begin, std::size_t end, bool written) noexcept {
  for (std::size_t at = begin; at < end; ++at) {
    if (staged_[at].stack == 0) continue;
    StoredStack& stack = stacks_.stack(staged_[at].stack);
    if (stack.defining && written) stack.defined = true;
    stack.defining = false;
  }
}

void Recording::commit_chunk(std::size_t begin, std::size_t end) noexcept {
  record_ns_ = tick_ns_;
  for (std::size_t at = begin; at < end; ++at) {
    const StagedEntry& entry = staged_[at];
    RecordedThread& thread = threads_[entry.place];
    const wire::SampleEntry sample = sample_of(entry, thread.written);
    if (says_nothing(sample)) continue;
    thread.written = advanced(thread.written, entry, sample);
    thread.stream_ns = tick_ns_;
    thread.stream_stack = entry.stack;
    thread.stream_generation = stacks_.generation();
    counters_.samples += entry.ticks;
    if (entry.stack == 0) counters_.stacks_missing += entry.ticks;
  }
}

void Recording::encode_stack(wire::Encoder& out, const StoredStack& stack) noexcept {
  const wire::StackRecord record{.stack_id = stack.id,
                                 .flags = stack.flags,
                                 .wait_syscall = stack.wait.syscall,
                                 .omitted_at = stack.omitted_at,
                                 .wait_channel = wait_channels_ == nullptr
                                                     ? std::string_view{}
                                                     : wait_channels_->name(stack.wait.channel)};
  wire::encode(out, record, entries_of(stack.pcs(), stack.kinds(), stack.frame_count));
}

// The stacks once, the counts each time. What finds no room is told the next time.
void Recording::write_differences() noexcept {
  if (differences_ == nullptr) return;
  counters_.stacks_compared = differences_->compared();
  counters_.stacks_equal = differences_->equal();
  counters_.differences_left_out = differences_->left_out();
  differences_->for_each([this](std::uint32_t number, std::uint64_t count,
                                const libunwind::FoundStack& own,
                                const libunwind::FoundStack& other) {
    const std::uint64_t id = wire::kFirstDifferenceId + 2 * std::uint64_t{number};
    const bool is_new = number >= told_differences_;
    const bool written = writer_.put([&](wire::Encoder& out) {
      if (is_new) encode_found(out, id, own);
      if (is_new) encode_found(out, id + 1, other);
      wire::encode(out, wire::DifferenceRecord{id, id + 1, count});
    });
    if (written && number == told_differences_) ++told_differences_;
    if (number >= told_differences_) counters_.differences_left_out += count;
  });
}

bool Recording::write_message(wire::MessageLevel level, std::string_view text) noexcept {
  const bool warning = level != wire::MessageLevel::kNote;
  log_line(warning ? LogLevel::kWarning : LogLevel::kInfo, "about a recording", text);
  const wire::MessageRecord record{.level = level, .text = text};
  return writer_.put([&record](wire::Encoder& out) { wire::encode(out, record); });
}

// A thread of its own: their CPU time is known only as a sum, without stacks and wall time.
void Recording::write_ended_threads() noexcept {
  const wire::ThreadRecord thread{.thread_index = next_thread_index_++,
                                  .tid = 0,
                                  .start_ns = growth(0, tick_ns_),
                                  .name = "[ended threads]"};
  const wire::SampleEntry sample{.thread_index = thread.thread_index,
                                 .state = wire::ThreadState::kRunning,
                                 .cpu_ns = growth(0, ended_cpu_ns_),
                                 .ticks = 0};
  writer_.put([&](wire::Encoder& out) {
    wire::encode(out, thread);
    wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
    tick.put(sample, false, true);
    tick.end();
  });
}

bool Recording::write_totals() noexcept {
  write_differences();
  write_user();
  return writer_.put([this](wire::Encoder& out) {
    namespace name = wire::counter;
    wire::TotalsEncoder totals(out, growth(0, tick_ns_));
    totals.put(name::kTicks, counters_.ticks);
    totals.put(name::kTicksMissed, counters_.ticks_missed);
    totals.put(name::kTicksStretched, counters_.ticks_stretched);
    totals.put(name::kSamples, counters_.samples);
    totals.put(name::kSamplesDropped, counters_.samples_dropped);
    totals.put(name::kStacksMissing, counters_.stacks_missing);
    totals.put(name::kStacksWalked, counters_.stacks_walked);
    totals.put(name::kStacksRooted, counters_.stacks_rooted);
    totals.put(name::kStacksCut, counters_.stacks_cut);
    totals.put(name::kSignalsSent, counters_.signals_sent);
    totals.put(name::kSignalsLate, counters_.signals_late);
    totals.put("signals_lost", counters_.signals_lost);
    totals.put("signals_bare", counters_.signals_bare);
    totals.put("signals_to_blocked", counters_.signals_to_blocked);
    totals.put("cpu_timer_stacks", counters_.cpu_timer_stacks);
    totals.put("burst_tick_stacks", counters_.burst_tick_stacks);
    totals.put("calls_interrupted", counters_.calls_interrupted);
    totals.put("stack_generations", counters_.stack_generations);
    totals.put(name::kThreads, counters_.threads);
    totals.put(name::kProcessCpuNs, growth(start_process_cpu_ns_, end_process_cpu_ns_));
    totals.put(name::kAgentCpuNs, growth(start_agent_cpu_ns_, end_agent_cpu_ns_));
    if (counters_.unwinder_missing) totals.put(name::kUnwinderMissing, 1);
    if (counters_.stacks_compared != 0) {
      totals.put(name::kStacksCompared, counters_.stacks_compared);
      totals.put(name::kStacksEqual, counters_.stacks_equal);
      totals.put(name::kDifferencesLeftOut, counters_.differences_left_out);
    }
    totals.end();
  });
}

}  // namespace swipr::agent
