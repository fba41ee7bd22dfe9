// Calls that samples meet.
#include "common/wire/sampled_calls.h"
#include "preload/agent/record/stream/probe_in_stream.h"

namespace swipr::agent {

// nullopt: not a function of this recording. The start is the same whenever it is computed: a call
// is known by it.
std::optional<wire::OpenCall> ProbeStream::find_call(std::uint32_t probe, std::uint32_t place,
                                                     std::uint64_t start) const noexcept {
  for (std::size_t line = 0; line < count_; ++line) {
    if (probes_[line].number != probe || probes_[line].address == 0) continue;
    return wire::OpenCall{
        .probe = line, .place = place, .start_ns = trace::ns_between(start_stamp_, start)};
  }
  return std::nullopt;
}

std::span<const std::uint64_t> ProbeStream::calls_of(
    const unwind::OpenCalls& calls, std::span<std::uint64_t, kMostCallWords> out) const noexcept {
  std::size_t count = 0;
  if (!joins_samples()) return {};
  for (const unwind::OpenCall& open : calls.calls()) {
    const auto call = find_call(open.probe, open.place, open.start);
    if (!call || count == out.size()) continue;
    for (const std::uint64_t word : pack_call(*call)) out[count++] = word;
  }
  return out.first(count);
}

std::uint64_t ProbeStream::call_ends_lost() const noexcept {
  return trace::sampled_calls.lost.load() - lost_before_;
}

bool ProbeStream::write_call_end(const CallEnd& ended, StreamWriter& stream) const noexcept {
  if (!joins_samples()) return true;
  const auto call = find_call(ended.probe, ended.place, ended.start);
  if (!call) return true;
  return stream.put_record(
      wire::CallEndRecord{.call = *call,
                          .duration_ns = ended.ns,
                          .flags = ended.unwound ? std::uint64_t{wire::kCallUnwound} : 0});
}

}  // namespace swipr::agent
