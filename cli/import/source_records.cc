#include "cli/import/source_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cli/import/syscall_names.h"
#include "cli/import/times.h"
#include "common/host/proc.h"
#include "common/host/text/hex.h"
#include "common/wire/names.h"

namespace swipr::importers {

namespace {

// Limit for points in time, which are larger than any duration.
std::chrono::nanoseconds date_of(std::uint64_t since_epoch_ns) {
  constexpr std::uint64_t kLatest = std::uint64_t{1}
                                    << 62;  // the year 2116; leaves room to add a duration
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(since_epoch_ns, kLatest)));
}

}  // namespace

bool SourceRecords::apply(const wire::RawRecord& record) {
  switch (static_cast<wire::RecordType>(record.type)) {
    case wire::RecordType::kSource:
      return on_source(record);
    case wire::RecordType::kModule:
      return on_module(record);
    case wire::RecordType::kModuleGone:
      return on_module_gone(record);
    case wire::RecordType::kThread:
      return on_thread(record);
    case wire::RecordType::kStack:
      return on_stack(record);
    case wire::RecordType::kTick:
      return on_tick(record);
    case wire::RecordType::kTotals:
      return on_totals(record);
    case wire::RecordType::kEnd:
      return on_end(record);
    case wire::RecordType::kMessage:
      return on_message(record);
    case wire::RecordType::kNames:
      return on_names(record);
    case wire::RecordType::kCode:
      return on_code(record);
    case wire::RecordType::kCodeGone:
      return on_code_gone(record);
    case wire::RecordType::kUser:
      return on_user(record);
    case wire::RecordType::kDifference:
      return on_difference(record);
    case wire::RecordType::kFunction:
      return on_function(record);
    case wire::RecordType::kRuntime:
      return on_runtime(record);
    case wire::RecordType::kLabels:
      return on_labels(record);
    case wire::RecordType::kStackLabels:
      return on_stack_labels(record);
    case wire::RecordType::kProbe:
      return on_probe(record);
    case wire::RecordType::kLatency:
      return on_latency(record);
    case wire::RecordType::kStackCalls:
      return on_stack_calls(record);
    case wire::RecordType::kCallEnd:
      return on_call_end(record);
    case wire::RecordType::kSlowCall:
    case wire::RecordType::kProbeCounts:
    case wire::RecordType::kCallThread:
      return true;  // single calls are not part of a profile
  }
  return true;  // a record type of a later version
}

void SourceRecords::on_loss() {
  // A thread's next "same stack" may refer to a lost entry. No stack is better than a wrong one.
  for (auto& [index, thread] : threads_) thread.last_stack_known = false;
  // Ids are redefined only after the writer has run out of memory. If that has happened, the
  // lost part may have redefined any id.
  if (stack_ids_reused_) {
    stacks_.clear();
    call_sets_.clear();
    stack_labels_.clear();
  }
  records_lost_ = true;
}

bool SourceRecords::on_source(const wire::RawRecord& record) {
  const auto source = wire::decode_source(record.payload);
  if (!source) return false;
  if (process_ != profile::kNone) {
    // The source index starts again with a new image: the state of the old image is dropped.
    finish();
    modules_.clear();
    threads_.clear();
    functions_.clear();
    stacks_.clear();
    call_sets_.clear();
    traced_.clear();
    calls_.clear();
    label_sets_.clear();
    stack_labels_.clear();
    stack_ids_reused_ = records_lost_ = ended_ = vanished_ = false;
    stacks_lost_ = now_ns_ = 0;
    received_ = {};
  }
  profile::Process process;
  process.source = number_;
  process.pid = Pid{kernel_id(source->pid)};
  process.parent_pid = Pid{kernel_id(source->parent_pid)};
  process.command_name = source->command_name;
  process.executable = source->executable;
  process.command_line = host::split_arguments(source->command_line);
  start_monotonic_ns_ = bounded(source->start_monotonic_ns);
  process.start_realtime = date_of(source->start_realtime_ns);
  process.start_monotonic = duration_of(start_monotonic_ns_);
  process.interval = duration_of(source->interval_ns);
  process.mode = static_cast<profile::Mode>(source->mode);
  process.jitter = source->jitter;
  process.machine = machine_ = source->machine;
  process_ = builder_.add_process(std::move(process));
  return true;
}

bool SourceRecords::on_module(const wire::RawRecord& record) {
  const auto module = wire::decode_module(record.payload);
  if (!module) return false;
  if (module->size_bytes == 0) return true;  // contains no address
  const std::uint64_t end = module->start + module->size_bytes;
  // A mapping replaces older mappings that it overlaps.
  auto first = modules_.lower_bound(module->start);
  if (first != modules_.begin() && std::prev(first)->second.end > module->start) --first;
  while (first != modules_.end() && first->first < end) first = modules_.erase(first);
  profile::Module entry;
  entry.process = process();
  entry.start = RuntimeAddr{module->start};
  entry.size_bytes = module->size_bytes;
  entry.file_offset = FileOffset{module->file_offset};
  entry.load_bias = module->load_bias;
  entry.build_id = host::to_hex(module->build_id);
  entry.path = module->path;
  modules_[module->start] = {end, module->module_id, builder_.intern_module(std::move(entry))};
  return true;
}

bool SourceRecords::on_module_gone(const wire::RawRecord& record) {
  const auto gone = wire::decode_module_gone(record.payload);
  if (!gone) return false;
  std::erase_if(modules_,
                [&gone](const auto& entry) { return entry.second.id == gone->module_id; });
  return true;
}

bool SourceRecords::on_thread(const wire::RawRecord& record) {
  const auto thread = wire::decode_thread(record.payload);
  if (!thread) return false;
  const Tid tid{kernel_id(thread->tid)};
  const auto known = threads_.find(thread->thread_index);
  if (known != threads_.end() && builder_.thread(known->second.index).tid == tid) {
    builder_.thread(known->second.index).name = thread->name;
    return true;
  }
  const std::uint32_t index = builder_.add_thread({process(), tid, std::string(thread->name)});
  threads_[thread->thread_index] = {index, bounded(thread->start_ns)};
  return true;
}

bool SourceRecords::on_stack(const wire::RawRecord& record) {
  const auto stack = wire::decode_stack(record.payload, frame_buffer_);
  if (!stack || stack->stack_id == 0) return false;
  profile::Stack entry;
  entry.frames.reserve(stack->frame_count);
  for (std::uint64_t index = 0; index < stack->frame_count; ++index) {
    entry.frames.push_back(resolve(frame_buffer_[index]));
  }
  if ((stack->flags & wire::kStackCut) != 0) {
    entry.omitted_at = static_cast<std::uint32_t>(stack->omitted_at);
  }
  if (stack->wait_syscall != 0) {
    entry.wait_syscall = syscall_name(machine_, stack->wait_syscall - 1);
  }
  entry.wait_channel = stack->wait_channel;
  entry.runtime_wait = stack->runtime_wait;
  entry.wait_type = stack->wait_object;
  entry.lock = stack->lock;
  entry.holder = Tid{kernel_id(stack->holder_tid)};
  entry.root_reached = (stack->flags & wire::kStackRootReached) != 0;
  ++received_.stacks;
  if (entry.root_reached) ++received_.stacks_rooted;
  define_stack(stack->stack_id, builder_.intern_stack(std::move(entry)), profile::kNone);
  return true;
}

void SourceRecords::define_stack(std::uint64_t id, std::uint32_t stack, std::uint32_t calls) {
  if (stacks_.find(id) != profile::kNone) {
    // The first redefinition that was read need not be the first that was written.
    if (records_lost_ && !stack_ids_reused_) {
      stacks_.clear();
      call_sets_.clear();
      stack_labels_.clear();
    }
    stack_ids_reused_ = true;
  }
  stacks_.define(id, stack);
  if (!traced_.empty()) call_sets_.define(id, calls);
  stack_labels_.erase(id);
}

bool SourceRecords::on_tick(const wire::RawRecord& record) {
  wire::TickDecoder tick(record.payload);
  if (!tick.ok()) return false;
  // One tick may span several records; all but the first have a delta of 0.
  if (tick.time_delta_ns() != 0 || received_.ticks == 0) ++received_.ticks;
  now_ns_ = bounded(now_ns_ + bounded(tick.time_delta_ns()));
  const std::size_t first_of_tick = builder_.samples().size();
  wire::SampleEntry entry;
  std::uint64_t flags = 0;
  while (tick.take(entry, flags)) add_sample(entry, flags, first_of_tick);
  return tick.ok();
}

void SourceRecords::add_sample(const wire::SampleEntry& entry, std::uint64_t flags,
                               std::size_t first_of_tick) {
  Thread& thread = thread_of(entry.thread_index);
  const std::uint64_t implied = now_ns_ > thread.last_entry_ns ? now_ns_ - thread.last_entry_ns : 0;
  const std::uint64_t wall = (flags & wire::kSampleHasWall) != 0 ? bounded(entry.wall_ns) : implied;
  thread.last_entry_ns = now_ns_;
  profile::Sample sample;
  sample.time = duration_of(start_monotonic_ns_ + now_ns_);
  sample.thread = thread.index;
  find_stack(thread, entry, flags, sample);
  sample.state = static_cast<profile::State>(entry.state);
  sample.ticks = entry.ticks;
  sample.cpu = duration_of(entry.cpu_ns);
  sample.runqueue = duration_of(wire::runqueue_ns_of(entry, flags, wall));
  sample.wall = duration_of(wall);
  received_.samples += sample.ticks;
  if (sample.stack == profile::kNone) received_.samples_without_stack += sample.ticks;
  received_.cpu_ns += static_cast<std::uint64_t>(sample.cpu.count());
  auto& samples = builder_.samples();
  // Several entries of a thread in one tick are consecutive in time. The last one ends at the tick.
  for (std::size_t index = samples.size(); index > first_of_tick; --index) {
    if (samples[index - 1].thread != sample.thread) break;
    samples[index - 1].time -= std::min(sample.wall, samples[index - 1].time);
  }
  samples.push_back(sample);
}

void SourceRecords::find_stack(Thread& thread, const wire::SampleEntry& entry, std::uint64_t flags,
                               profile::Sample& sample) {
  if ((flags & wire::kSampleSameStack) == 0) {
    thread.last_stack = stacks_.find(entry.stack_id);
    thread.last_calls = call_sets_.find(entry.stack_id);
    thread.last_labels = labels_of_stack(entry.stack_id);
    thread.last_stack_known = entry.stack_id == 0 || thread.last_stack != profile::kNone;
  }
  if (!thread.last_stack_known) {
    ++stacks_lost_;
    return;
  }
  sample.stack = thread.last_stack;
  sample.calls = thread.last_calls;
  sample.labels = thread.last_labels;
}

bool SourceRecords::on_totals(const wire::RawRecord& record) {
  wire::TotalsDecoder totals(record.payload);
  if (!totals.ok()) return false;
  profile::Process& target = builder_.process(process());
  target.duration = duration_of(totals.duration_ns());
  std::string_view name;
  std::uint64_t value = 0;
  while (totals.take(name, value)) target.totals[std::string(name)] = value;
  return totals.ok();
}

bool SourceRecords::on_end(const wire::RawRecord& record) {
  const auto end = wire::decode_end(record.payload);
  if (!end) return false;
  profile::Process& target = builder_.process(process());
  target.duration = duration_of(end->duration_ns);
  ended_ = true;
  vanished_ = end->reason == wire::EndReason::kConnectionLost;
  if (end->reason == wire::EndReason::kFailed) {
    builder_.warn(fmt::format("{}: the recording failed: {}", label(), end->text));
  }
  return true;
}

bool SourceRecords::on_user(const wire::RawRecord& record) {
  const auto user = wire::decode_user(record.payload);
  if (!user || user->user > std::numeric_limits<std::uint32_t>::max()) return false;
  builder_.process(process()).user = static_cast<std::uint32_t>(user->user);
  return true;
}

// Counts grow: the last one of the same two stacks applies.
bool SourceRecords::on_difference(const wire::RawRecord& record) {
  constexpr std::size_t kMost = 8192;  // of hostile files; one source has 1,024 at most
  const auto difference = wire::decode_difference(record.payload);
  if (!difference) return false;
  const profile::Difference entry{process(), stacks_.find(difference->stack_id),
                                  stacks_.find(difference->other_id), difference->count};
  if (entry.stack == profile::kNone || entry.other == profile::kNone) return true;
  auto& known = builder_.differences();
  const auto same = std::find_if(known.begin(), known.end(), [&entry](const auto& other) {
    return other.process == entry.process && other.stack == entry.stack &&
           other.other == entry.other;
  });
  if (same != known.end()) {
    same->count = entry.count;
  } else if (known.size() < kMost) {
    known.push_back(entry);
  }
  return true;
}

bool SourceRecords::on_message(const wire::RawRecord& record) {
  const auto message = wire::decode_message(record.payload);
  if (!message) return false;
  builder_.warn(fmt::format("{}: {}", label(), message->text));
  return true;
}

std::uint32_t SourceRecords::process() {
  // The first record of the source was lost, but its threads and samples are usable.
  if (process_ == profile::kNone) process_ = builder_.add_process({});
  return process_;
}

SourceRecords::Thread& SourceRecords::thread_of(std::uint64_t thread_index) {
  const auto [place, is_new] = threads_.try_emplace(thread_index);
  if (is_new) {
    place->second = {builder_.add_thread({process(), Tid{0}, std::string()}), now_ns_};
  }
  return place->second;
}

std::uint32_t SourceRecords::resolve(const wire::FrameEntry& frame) {
  profile::Frame entry;
  entry.process = process();
  entry.pc = RuntimeAddr{frame.pc};
  entry.kind = frame.exact ? PcKind::kExact : PcKind::kReturnAddress;
  if (is_runtime_frame(frame.pc)) {
    const RuntimeFrame place = runtime_frame_of(frame.pc);
    const auto function = functions_.find(place.function);
    // Its record may be in a damaged part.
    if (function != functions_.end()) entry.function = function->second;
    entry.line = place.line;
    entry.execution = static_cast<Execution>(frame.source);
    return builder_.intern_frame(entry);
  }
  // A call that never returns can be the last instruction of a mapping: use the same lookup
  // address as the symbolizer.
  const std::uint64_t address = lookup_address(frame.pc, entry.kind);
  auto place = modules_.upper_bound(address);
  if (place != modules_.begin() && (--place)->second.end > address) {
    entry.module = place->second.index;
  }
  return builder_.intern_frame(entry);
}

std::string SourceRecords::label() {
  if (process_ == profile::kNone) return "unknown process";
  const profile::Process& source = builder_.process(process_);
  return fmt::format("{} ({})", source.command_name.empty() ? "process" : source.command_name,
                     source.pid.value);
}

}  // namespace swipr::importers
