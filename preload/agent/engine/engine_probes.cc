// Functions that recordings trace: attached when the recording begins, detached when it ends.
#include <algorithm>
#include <array>
#include <span>

#include "common/wire/slow_calls.h"
#include "preload/agent/base/log.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/engine/engine.h"
#include "preload/agent/probes/probe_table.h"
#include "preload/handler/signals/disposition.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::agent {

namespace {

// Of all functions of a request: the program's thread that ends waits for the control thread.
constexpr std::chrono::seconds kAttachTime{2};
// Histograms of a few threads for each function, the pool of calls, copies of code.
constexpr std::uint64_t kRoomForProbe = std::uint64_t{128} << 10;
constexpr std::uint64_t kRoomForPool = std::uint64_t{2} << 20;

std::size_t count_probes(std::string_view text) noexcept {
  wire::ProbeRequest probe;
  std::size_t count = 0;
  while (wire::take_probe(text, probe)) ++count;
  return count;
}

constexpr char kNoSites[] = "the process has not mapped the file of the call site";

std::span<const std::uint64_t> find_sites(const RecordingRequest& request, const ModuleMap& modules,
                                          std::span<std::uint64_t> out) noexcept {
  std::string_view text = request.sites;
  wire::ProbeRequest site;
  std::size_t count = 0;
  while (count < out.size() && wire::take_probe(text, site)) {
    out[count] = address_of(site, modules);
    if (out[count] != 0) ++count;
  }
  return out.first(count);
}

void log_answer(const RecordingRequest& request, const ProbeAnswer& answer) noexcept {
  FixedText<320> text;
  text.append("0x").append_hex(answer.address).append(" for process ");
  text.append_number(static_cast<std::uint64_t>(request.client_pid)).append(" of user ");
  text.append_number(request.client_uid);
  if (!answer.is_attached()) text.append(", because ").append(answer.text.view());
  log_line(LogLevel::kInfo,
           answer.is_attached() ? "a function is traced" : "a function is not traced", text.view());
}

}  // namespace

void Engine::attach_probes(Recording& recording, const RecordingRequest& request) noexcept {
  const Moment deadline = monotonic_now() + kAttachTime;
  const std::size_t count = count_probes(request.probes);
  std::array<std::uint64_t, wire::kMostSites> room;
  const auto sites = find_sites(request, process_.modules, room);
  const char* refusal = nullptr;
  if (!process_.room.has(kLeastRoom + kRoomForPool + count * kRoomForProbe)) {
    refusal = "the program's memory cgroup has too little memory left";
  } else {
    // A signal of a sample that is pending would take the place of the gate's.
    process_.signals.await_answers();
    refusal = probe_table().prepare(process_.modules, process_.memory,
                                    process_.can_signal ? handler::installed_signal() : 0);
  }
  if (refusal == nullptr) refusal = prepare_slow_calls(recording, request);
  if (refusal == nullptr && recording.samples() && !ProbeStream::prepare_call_ends()) {
    refusal = "there is no memory for the calls that samples meet";
  }
  std::string_view text = request.probes;
  wire::ProbeRequest wanted;
  for (std::size_t line = 0; wire::take_probe(text, wanted); ++line) {
    ProbeAnswer answer;
    wire::read_strings(request.strings, line, answer.strings);
    if (refusal == nullptr && !request.sites.empty() && sites.empty()) refusal = kNoSites;
    if (refusal != nullptr) {
      answer.reason = wire::ProbeReason::kProcess;
      answer.text.append(refusal);
    } else if (monotonic_now() > deadline) {
      answer.reason = wire::ProbeReason::kBusy;
      answer.text.append("the functions before it took more than two seconds");
    } else {
      probe_table().add(wanted, sites, process_.modules, process_.memory, answer);
    }
    log_answer(request, answer);
    recording.add_probe(answer);
  }
}

// nullptr, or why it cannot.
const char* Engine::prepare_slow_calls(const Recording& recording,
                                       const RecordingRequest& request) noexcept {
  if (!request.follows_slow_calls()) return nullptr;
  for (const Recording* other : recordings_) {
    if (other != nullptr && other != &recording && other->probes().follows_slow_calls()) {
      return "another client follows slow calls of this process";
    }
  }
  return recording.probes().prepare_slow_calls() ? nullptr : "there is no memory for slow calls";
}

void Engine::write_slow_calls(Recording& recording) noexcept {
  recording.write_slow_calls(
      [this](const unwind::Registers& caller, std::span<const std::uint64_t> stack,
             unwind::FrameBuffer& frames) noexcept { sampler_.walk_copy(caller, stack, frames); });
}

// Of all recordings: a call that one of them has met is told to all.
void Engine::write_call_ends() noexcept {
  if (!unwind::calls_are_followed.load(std::memory_order_relaxed)) return;
  ProbeStream::take_call_ends([this](const ProbeStream::CallEnd& call) {
    for (Recording* recording : recordings_) {
      if (recording != nullptr) recording->write_call_end(call);
    }
  });
}

void Engine::choose_whether_calls_are_followed() noexcept {
  const bool any = std::any_of(recordings_.begin(), recordings_.end(), [](const Recording* one) {
    return one != nullptr && one->probes().joins_samples();
  });
  unwind::calls_are_followed.store(any, std::memory_order_relaxed);
}

void Engine::look_after_probes(Moment now) noexcept {
  probe_table().retry(now);
  for (Recording* recording : recordings_) {
    if (recording != nullptr && !recording->is_complete()) recording->check_probes(now);
  }
}

Moment Engine::probes_due() const noexcept {
  Moment due = probe_table().retry_at();
  for (const Recording* recording : recordings_) {
    if (recording != nullptr && !recording->is_complete()) {
      due = std::min(due, recording->probes().check_at());
    }
  }
  return due;
}

}  // namespace swipr::agent
