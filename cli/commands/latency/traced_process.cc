#include "cli/commands/latency/traced_process.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "cli/import/swipr_reader.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using host::Error;
using host::Result;

constexpr auto kAnswerTime = 10s;
constexpr std::chrono::nanoseconds kLongestTick = 100ms;
constexpr std::chrono::nanoseconds kShortestTick = 1ms;

std::string probe_lines(std::span<const TracedFunction> functions) {
  std::string lines;
  for (const TracedFunction& function : functions) {
    lines += fmt::format("0x{:x} {} {}\n", function.begin.value,
                         function.build_id.empty() ? "path" : "build-id",
                         function.build_id.empty() ? function.path : function.build_id);
  }
  return lines;
}

session::StreamRequest request_of(std::span<const TracedFunction> functions,
                                  const options::LatencyOptions& options) {
  session::StreamRequest request;
  if (options.interval != 0ns) request.latency_interval = options.interval;
  // Durations arrive at ticks, so intervals are as exact as these.
  request.interval = std::clamp(request.latency_interval / 20, kShortestTick, kLongestTick);
  request.duration = options.duration;
  request.max_overhead_permille = options.max_overhead_permille;
  request.jitter = false;
  request.sampling = false;
  request.probes = probe_lines(functions);
  return request;
}

}  // namespace

Result<profile::Recording> read_modules(session::Target target) {
  importers::SwiprReader reader;
  session::StreamRequest request;
  request.ticks = 1;
  request.interval = kShortestTick;
  request.sampling = false;
  session::LiveStream stream(std::move(target.connection), request,
                             [&reader](std::span<const std::byte> bytes) { reader.feed(bytes); });
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTime;
  while (true) {
    pollfd wait{stream.fd(), POLLIN, 0};
    const auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (rest <= 0ms) return Error("the process does not answer");
    if (::poll(&wait, 1, static_cast<int>(rest.count())) <= 0) continue;
    const auto more = stream.read();
    if (!more) return more.error();
    if (!*more) return reader.finish();
  }
}

TracedProcess::TracedProcess(session::Target target, std::span<const TracedFunction> functions,
                             const options::LatencyOptions& options, OnRecords on_records)
    : records_(functions.size()),
      on_records_(std::move(on_records)),
      blocks_([this](std::span<const std::byte> payload) {
        records_.apply(payload);
        return on_records_();
      }) {
  stream_ = std::make_unique<session::LiveStream>(std::move(target.connection),
                                                  request_of(functions, options),
                                                  [this](std::span<const std::byte> bytes) {
                                                    if (fed_) fed_ = blocks_.feed(bytes);
                                                  });
}

Result<bool> TracedProcess::read() {
  auto more = stream_->read();
  if (!fed_) return fed_.error();
  if (!more) return more;
  if (!records_.failure().empty()) return Error("tracing ended early: " + records_.failure());
  if (records_.has_begun() && records_.count(tracing::Probe::State::kUnanswered) != 0) {
    return Error("the library in the process cannot trace functions: it is an older one");
  }
  return more;
}

}  // namespace swipr::commands
