// Writes staged entries as tick records.
#include <algorithm>

#include "preload/agent/record/accounts/thread_accounts.h"
#include "preload/agent/record/stream/growth.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kEntryBytes = 6 * 10;  // on the wire: varints of at most 10 bytes
// Entries and the stacks that they need are written in pieces of about this size: large enough to
// be cheap, and small compared with a block.
constexpr std::size_t kChunkBytes = std::size_t{48} << 10;

// A thread that does not sleep has run or waited for a CPU all the time, but the clocks are read
// one after the other. Written as "the rest" (one byte instead of four); the next entry corrects
// the difference, so that no sum is off by more than that.
std::uint64_t queued_of(std::uint64_t runqueue_ns, std::uint64_t rest_ns) noexcept {
  constexpr std::uint64_t kBetweenClocks = 50'000;
  const bool whole = runqueue_ns != 0 && rest_ns < runqueue_ns + kBetweenClocks;
  return whole || runqueue_ns > rest_ns ? rest_ns : runqueue_ns;
}

bool says_nothing(const wire::SampleEntry& sample) noexcept {
  return sample.ticks == 0 && sample.wall_ns == 0 && sample.cpu_ns == 0 && sample.runqueue_ns == 0;
}

}  // namespace

void ThreadAccounts::stage(const RecordedThread& thread, std::uint32_t stack,
                           wire::ThreadState state, std::uint32_t ticks, Part part,
                           std::int64_t cpu_ns) noexcept {
  const bool staged = staged_.push_back({.place = place_of(thread),
                                         .index = thread.stream.index,
                                         .stack = stack,
                                         .ticks = ticks,
                                         .state = state,
                                         .part = part,
                                         .until = thread.account.until(cpu_ns)});
  if (!staged) counters_.samples_dropped += ticks;
}

void ThreadAccounts::write_staged(ThreadList& threads, bool can_resolve) noexcept {
  std::sort(staged_.begin(), staged_.end(), [](const StagedEntry& left, const StagedEntry& right) {
    if (left.index != right.index) return left.index < right.index;
    if (left.until.wall_ns != right.until.wall_ns) return left.until.wall_ns < right.until.wall_ns;
    return left.ticks > right.ticks;  // time without samples comes last
  });
  for (std::size_t begin = 0; begin < staged_.size();) {
    const Chunk chunk = chunk_from(begin);
    bool written = can_resolve;
    for (std::size_t at = begin; at < chunk.end; ++at) {
      written = introduce(staged_[at].place, threads) && written;
      written = written && stream_.define_ahead(staged_[at].stack);
    }
    written =
        written && stream_.put([this, chunk](wire::Encoder& out) { encode_chunk(out, chunk); });
    settle_definitions(chunk, written);
    if (written) commit_chunk(chunk);
    for (std::size_t at = begin; at < chunk.end && !written; ++at) {
      counters_.samples_dropped += staged_[at].ticks;
    }
    begin = chunk.end;
  }
  staged_.clear();
}

void ThreadAccounts::write_empty_tick() noexcept {
  const bool written = stream_.put([this](wire::Encoder& out) {
    wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
    tick.end();
  });
  if (written) record_ns_ = tick_ns_;
}

bool ThreadAccounts::introduce(std::uint32_t place, ThreadList& threads) noexcept {
  RecordedThread& known = threads_[place];
  const Thread& thread = threads[place];
  // Its place belongs to another thread now: the stream has it or will never have it.
  if (thread.generation != known.generation) return known.stream.name_version != 0;
  return stream_.introduce(known.stream, thread, known.account.start_ns_);
}

void ThreadAccounts::introduce_all(ThreadList& threads) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    if (threads_[place].generation != 0) introduce(place, threads);
  }
}

ThreadAccounts::Chunk ThreadAccounts::chunk_from(std::size_t begin) const noexcept {
  std::size_t bytes = 0;
  std::size_t end = begin;
  while (end < staged_.size() && bytes < kChunkBytes) {
    bytes += kEntryBytes + stream_.definition_bytes(staged_[end++].stack);
  }
  return {begin, end};
}

void ThreadAccounts::encode_chunk(wire::Encoder& out, Chunk chunk) noexcept {
  settle_definitions(chunk, false);
  for (std::size_t at = chunk.begin; at < chunk.end; ++at) stream_.define(out, staged_[at].stack);
  wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
  const RecordedThread* before = nullptr;
  Accounted from;
  for (std::size_t at = chunk.begin; at < chunk.end; ++at) {
    const StagedEntry& entry = staged_[at];
    const RecordedThread& thread = threads_[entry.place];
    // A thread's second entry in one tick counts from its first.
    const bool first = before != &thread;
    if (first) from = thread.account.written_;
    const wire::SampleEntry sample = sample_of(entry, from);
    if (says_nothing(sample)) continue;
    const bool same_stack =
        first ? thread.stream.stack == entry.stack && thread.stream.generation == stack_generation()
              : staged_[at - 1].stack == entry.stack;
    const std::int64_t stream_ns = first ? thread.stream.tick_ns : tick_ns_;
    tick.put(sample, same_stack, sample.wall_ns == growth(stream_ns, tick_ns_));
    before = &thread;
    from = advanced(from, entry, sample);
  }
  tick.end();
}

// Clocks are read after the tick's time, one after the other. Time beyond the tick goes into the
// next entry: no time is counted twice, and running, queued and blocked time add up to the whole.
wire::SampleEntry ThreadAccounts::sample_of(const StagedEntry& entry,
                                            const Accounted& from) const noexcept {
  const std::uint64_t cpu = growth(from.cpu_ns, entry.until.cpu_ns);
  const std::uint64_t runqueue = growth(from.runqueue_ns, entry.until.runqueue_ns);
  wire::SampleEntry sample{.thread_index = entry.index,
                           .state = entry.state,
                           .stack_id = entry.stack,
                           .wall_ns = growth(from.wall_ns, entry.until.wall_ns),
                           .ticks = entry.ticks};
  switch (mode_) {
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

// The stream's account after an entry.
Accounted ThreadAccounts::advanced(const Accounted& from, const StagedEntry& entry,
                                   const wire::SampleEntry& sample) noexcept {
  const bool all = entry.part == Part::kAll;
  const bool waits = entry.part != Part::kCpu;
  return {all ? entry.until.wall_ns : from.wall_ns + static_cast<std::int64_t>(sample.wall_ns),
          from.cpu_ns + static_cast<std::int64_t>(sample.cpu_ns),
          from.runqueue_ns + static_cast<std::int64_t>(sample.runqueue_ns),
          waits ? std::max(from.off_cpu_ns, entry.until.off_cpu_ns) : from.off_cpu_ns};
}

void ThreadAccounts::settle_definitions(Chunk chunk, bool written) noexcept {
  for (std::size_t at = chunk.begin; at < chunk.end; ++at) {
    stream_.settle_definition(staged_[at].stack, written);
  }
}

void ThreadAccounts::commit_chunk(Chunk chunk) noexcept {
  record_ns_ = tick_ns_;
  for (std::size_t at = chunk.begin; at < chunk.end; ++at) {
    const StagedEntry& entry = staged_[at];
    RecordedThread& thread = threads_[entry.place];
    const wire::SampleEntry sample = sample_of(entry, thread.account.written_);
    if (says_nothing(sample)) continue;
    thread.account.written_ = advanced(thread.account.written_, entry, sample);
    thread.stream.tick_ns = tick_ns_;
    thread.stream.stack = entry.stack;
    thread.stream.generation = stack_generation();
    counters_.samples += entry.ticks;
    if (entry.stack == 0) counters_.stacks_missing += entry.ticks;
  }
}

void ThreadAccounts::write_ended_threads(std::int64_t cpu_ns) noexcept {
  const wire::ThreadRecord thread{.thread_index = next_index_++,
                                  .tid = 0,
                                  .start_ns = growth(0, tick_ns_),
                                  .name = "[ended threads]"};
  const wire::SampleEntry sample{.thread_index = thread.thread_index,
                                 .state = wire::ThreadState::kRunning,
                                 .cpu_ns = growth(0, cpu_ns),
                                 .ticks = 0};
  stream_.put([&](wire::Encoder& out) {
    wire::encode(out, thread);
    wire::TickEncoder tick(out, growth(record_ns_, tick_ns_));
    tick.put(sample, false, true);
    tick.end();
  });
}

}  // namespace swipr::agent
