#include "cli/commands/agent/slice_accounts.h"

#include <fmt/format.h>

#include "cli/export/formats/col_header.h"
#include "cli/export/text/json_text.h"

namespace swipr::commands {

namespace {

using exporters::json_string;
using std::chrono::nanoseconds;

std::string unrecorded_json(const fleet::CpuShares& shares) {
  std::string text = "{";
  const auto add = [&text](fleet::Unrecorded reason, nanoseconds share) {
    if (share.count() == 0) return;
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", unrecorded_name(reason),
                        share.count());
  };
  add(fleet::Unrecorded::kSwipr, shares.swipr);
  add(shares.reason, shares.other);
  return text + "}";
}

std::string process_json(const SliceTarget& target, const fleet::Identity& identity) {
  std::string text = fmt::format(
      R"({{"pid":{},"command":{},"service":{},"application":{},"container":{},"cpu_ns":{},)"
      R"("recorded_ns":{},"unrecorded_ns":{})",
      target.facts.pid.value, json_string(target.facts.command_name), json_string(identity.service),
      json_string(identity.application), json_string(identity.container), target.kernel.count(),
      target.recorded.count(), unrecorded_json(target.unrecorded));
  if (target.has_ended) text += R"(,"ended":true)";
  if (!target.refusal.empty()) text += fmt::format(R"(,"problem":{})", json_string(target.refusal));
  return text + "}";
}

}  // namespace

std::string format_slice_accounts(const SliceJob& job,
                                  const std::vector<fleet::Identity>& identities) {
  nanoseconds kernel{0};
  nanoseconds recorded{0};
  nanoseconds unrecorded{0};
  for (const SliceTarget& target : job.targets) {
    kernel += target.kernel;
    recorded += target.recorded;
    unrecorded += target.unrecorded.sum();
  }
  std::string text = fmt::format(
      R"({{"begin":"{}","begin_ns":{},"duration_ns":{},"cpu_ns":{},"recorded_ns":{},"unrecorded_ns":{},)"
      "\n\"processes\":[",
      exporters::iso_time(job.span.realtime), job.span.realtime.count(), job.span.duration.count(),
      kernel.count(), recorded.count(), unrecorded.count());
  for (std::size_t index = 0; index < job.targets.size(); ++index) {
    text += index == 0 ? "\n" : ",\n";
    text += process_json(job.targets[index], identities[index]);
  }
  return text + "\n]}\n";
}

}  // namespace swipr::commands
