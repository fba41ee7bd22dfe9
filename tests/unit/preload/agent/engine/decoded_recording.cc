#include "tests/unit/preload/agent/engine/decoded_recording.h"

#include <dlfcn.h>

#include <numeric>
#include <utility>

#include "common/wire/crc32.h"
#include "common/wire/decoder.h"
#include "common/wire/names.h"

namespace swipr::test {

namespace {

class Reader {
 public:
  DecodedRecording take(std::span<const std::byte> bytes) {
    std::uint16_t version = 0;
    if (wire::decode_file_header(bytes, version) != wire::HeaderStatus::kOk) {
      out_.damaged = true;
      return out_;
    }
    bytes = bytes.subspan(wire::kFileHeaderBytes);
    while (!bytes.empty()) {
      const auto header = wire::decode_block_header(bytes);
      if (!header || bytes.size() < wire::kBlockHeaderBytes + header->payload_bytes) {
        out_.damaged = true;
        return out_;
      }
      auto payload = bytes.subspan(wire::kBlockHeaderBytes, header->payload_bytes);
      if (wire::crc32(payload) != header->crc) out_.damaged = true;
      for (std::size_t before = payload.size(); auto record = wire::take_record(payload);
           before = payload.size()) {
        const bool is_tick = record->type == static_cast<std::uint8_t>(wire::RecordType::kTick);
        if (is_tick) out_.tick_bytes += before - payload.size();
        take_one(*record);
      }
      if (!payload.empty()) out_.damaged = true;
      bytes = bytes.subspan(wire::kBlockHeaderBytes + header->payload_bytes);
    }
    return out_;
  }

 private:
  void take_one(const wire::RawRecord& record) {
    switch (static_cast<wire::RecordType>(record.type)) {
      case wire::RecordType::kSource:
        if (const auto source = wire::decode_source(record.payload)) {
          out_.executable = source->executable;
          out_.interval_ns = source->interval_ns;
          out_.mode = source->mode;
        }
        break;
      case wire::RecordType::kModule:
        take_module(record.payload);
        break;
      case wire::RecordType::kModuleGone:
        if (const auto gone = wire::decode_module_gone(record.payload)) {
          for (auto& module : out_.modules)
            module.gone = module.gone || module.id == gone->module_id;
        }
        break;
      case wire::RecordType::kThread:
        take_thread(record.payload);
        break;
      case wire::RecordType::kStack:
        take_stack(record.payload);
        break;
      case wire::RecordType::kTick:
        take_tick(record.payload);
        break;
      case wire::RecordType::kTotals:
        take_totals(record.payload);
        break;
      case wire::RecordType::kEnd:
        if (const auto end = wire::decode_end(record.payload)) out_.duration_ns = end->duration_ns;
        break;
      case wire::RecordType::kMessage:
        if (const auto message = wire::decode_message(record.payload)) {
          out_.messages += std::string(message->text) + "\n";
        }
        break;
      case wire::RecordType::kCode:
        take_code(record.payload);
        break;
      case wire::RecordType::kCodeGone:
        if (const auto gone = wire::decode_code_gone(record.payload)) {
          out_.code_gone.push_back(*gone);
        }
        break;
      case wire::RecordType::kDifference:
      case wire::RecordType::kFunction:
      case wire::RecordType::kRuntime:
      case wire::RecordType::kProbe:
      case wire::RecordType::kLatency:
      case wire::RecordType::kSlowCall:
      case wire::RecordType::kProbeCounts:
      case wire::RecordType::kCallThread:
      case wire::RecordType::kStackCalls:
      case wire::RecordType::kCallEnd:
      case wire::RecordType::kLabels:
      case wire::RecordType::kStackLabels:
        break;
      case wire::RecordType::kUser:
        if (const auto user = wire::decode_user(record.payload)) out_.users.push_back(user->user);
        if (out_.threads.empty()) out_.users_before_threads = out_.users.size();
        break;
      case wire::RecordType::kNames:
        out_.damaged = true;  // the preload writes none
        break;
    }
  }

  void take_code(std::span<const std::byte> payload) {
    wire::CodeDecoder code(payload);
    wire::CodeRecord record = code.record();
    record.object = code.object();
    const std::string name(std::exchange(record.name, {}));
    out_.damaged = out_.damaged || !code.ok() || !out_.code.emplace(name, record).second;
  }

  void take_module(std::span<const std::byte> payload) {
    const auto module = wire::decode_module(payload);
    if (!module) {
      out_.damaged = true;
      return;
    }
    out_.modules.push_back({.id = module->module_id,
                            .start = module->start,
                            .end = module->start + module->size_bytes,
                            .path = std::string(module->path),
                            .build_id_bytes = module->build_id.size()});
  }

  void take_thread(std::span<const std::byte> payload) {
    const auto record = wire::decode_thread(payload);
    if (!record) {
      out_.damaged = true;
      return;
    }
    const bool known = out_.threads.contains(record->thread_index);
    DecodedThread& thread = out_.threads[record->thread_index];
    thread.tid = record->tid;
    thread.name = record->name;
    thread.start_ns = record->start_ns;
    if (!known) last_[record->thread_index].time_ns = record->start_ns;
  }

  void take_stack(std::span<const std::byte> payload) {
    std::vector<wire::FrameEntry> frames(wire::kMaxFrames);
    const auto record =
        wire::decode_stack(payload, std::span<wire::FrameEntry, wire::kMaxFrames>(frames));
    if (!record) {
      out_.damaged = true;
      return;
    }
    frames.resize(record->frame_count);
    stacks_[record->stack_id] = {record->flags, record->wait_syscall,
                                 std::string(record->wait_channel), frames};
  }

  void take_tick(std::span<const std::byte> payload) {
    wire::TickDecoder tick(payload);
    time_ns_ += tick.time_delta_ns();
    wire::SampleEntry sample;
    std::uint64_t flags = 0;
    while (tick.take(sample, flags)) {
      Last& last = last_[sample.thread_index];
      if ((flags & wire::kSampleSameStack) != 0) sample.stack_id = last.stack_id;
      if ((flags & wire::kSampleHasWall) == 0) sample.wall_ns = time_ns_ - last.time_ns;
      sample.runqueue_ns = wire::runqueue_ns_of(sample, flags, sample.wall_ns);
      last = {time_ns_, sample.stack_id};
      const bool defined = sample.stack_id == 0 || stacks_.contains(sample.stack_id);
      if (!defined || !out_.threads.contains(sample.thread_index)) {
        out_.damaged = true;
        continue;
      }
      const DecodedStack stack = sample.stack_id == 0 ? DecodedStack{} : stacks_[sample.stack_id];
      out_.threads[sample.thread_index].entries.push_back({time_ns_, sample, stack});
    }
    if (!tick.ok()) out_.damaged = true;
  }

  void take_totals(std::span<const std::byte> payload) {
    wire::TotalsDecoder totals(payload);
    std::string_view name;
    std::uint64_t value = 0;
    while (totals.take(name, value)) out_.totals[std::string(name)] = value;
  }

  struct Last {
    std::uint64_t time_ns = 0;
    std::uint64_t stack_id = 0;
  };
  DecodedRecording out_;
  std::map<std::uint64_t, Last> last_;
  std::map<std::uint64_t, DecodedStack> stacks_;
  std::uint64_t time_ns_ = 0;
};

template <typename Field>
std::uint64_t sum(const std::vector<DecodedEntry>& entries, Field field) {
  return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0},
                         [field](std::uint64_t so_far, const DecodedEntry& entry) {
                           return so_far + entry.sample.*field;
                         });
}

}  // namespace

std::vector<std::string> DecodedStack::names() const {
  std::vector<std::string> names;
  for (const wire::FrameEntry& frame : frames) {
    Dl_info info{};
    const std::uint64_t pc = frame.exact ? frame.pc : frame.pc - 1;
    const bool found = ::dladdr(reinterpret_cast<void*>(pc), &info) != 0;
    names.emplace_back(found && info.dli_sname != nullptr ? info.dli_sname : "");
  }
  return names;
}

std::uint64_t DecodedThread::sum_cpu() const { return sum(entries, &wire::SampleEntry::cpu_ns); }
std::uint64_t DecodedThread::sum_wall() const { return sum(entries, &wire::SampleEntry::wall_ns); }
std::uint64_t DecodedThread::sum_runqueue() const {
  return sum(entries, &wire::SampleEntry::runqueue_ns);
}
std::uint64_t DecodedThread::sum_ticks() const { return sum(entries, &wire::SampleEntry::ticks); }

const DecodedThread* DecodedRecording::thread_of(int tid) const {
  for (const auto& [index, thread] : threads) {
    if (thread.tid == static_cast<std::uint64_t>(tid)) return &thread;
  }
  return nullptr;
}

const DecodedModule* DecodedRecording::module_at(std::uint64_t pc) const {
  for (const DecodedModule& module : modules) {
    if (module.start <= pc && pc < module.end) return &module;
  }
  return nullptr;
}

DecodedRecording decode_recording(std::span<const std::byte> bytes) { return Reader().take(bytes); }

}  // namespace swipr::test
