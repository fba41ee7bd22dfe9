#include <nlohmann/json.hpp>

#include "cli/export/report/report.h"
#include "cli/export/report/report_cycles.h"
#include "cli/export/report/report_paths.h"
#include "cli/export/report/report_split.h"
#include "cli/export/text/text.h"
#include "cli/profile/tables/label_times.h"
#include "cli/profile/tables/lock_waits.h"
#include "cli/profile/tables/machine_work.h"
#include "cli/profile/tables/task_waits.h"
#include "cli/profile/tables/thread_times.h"
#include "cli/profile/tables/top_functions.h"
#include "cli/profile/tables/wait_times.h"

namespace swipr::exporters {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPathNodes = 1000;  // the heaviest: what scripts can compare or draw

Json process_json(const profile::Process& process) {
  return {{"pid", process.pid.value},
          {"command", process.command_name},
          {"executable", process.executable},
          {"interval_ns", process.interval.count()},
          {"jitter", process.jitter},
          {"mode", profile::mode_name(process.mode)},
          {"duration_ns", process.duration.count()},
          {"complete", process.complete},
          {"totals", process.totals}};
}

Json thread_json(const profile::Recording& recording, const profile::ThreadTimes& times) {
  const profile::Thread& thread = recording.threads[times.thread];
  return {{"tid", thread.tid.value},
          {"pid", recording.processes[thread.process].pid.value},
          {"name", thread.name},
          {"samples", times.samples},
          {"cpu_ns", times.cpu.count()},
          {"runqueue_ns", times.runqueue.count()},
          {"blocked_ns", times.blocked.count()}};
}

void put_locks(Json& report, const char* key, const profile::LockWaits& waits) {
  if (waits.waited.count() == 0) return;
  Json holders = Json::array();
  for (const auto& holder : waits.holders) {
    Json entry = {{"function", holder.function}, {"waited_ns", holder.waited.count()}};
    if (!holder.lock.empty()) entry["lock"] = holder.lock;
    if (holder.locks.count != 0) entry["locks"] = holder.locks.count;
    if (holder.locks.has_more) entry["more_locks"] = true;
    if (!holder.locks.address.empty()) entry["address"] = holder.locks.address;
    if (!holder.locks.variable.empty()) entry["variable"] = holder.locks.variable;
    holders.push_back(std::move(entry));
  }
  report[key] = {{"waited_ns", waits.waited.count()},
                 {"running_ns", waits.running.count()},
                 {"holders", std::move(holders)}};
}

}  // namespace

host::Result<void> write_report_json(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink) {
  const auto top = profile::top_functions(recording, names, options.weight);
  Json report = {
      {"processes", Json::array()},
      {"weight", weight_name(options.weight)},
      {"weight_unit", options.weight == profile::Weight::kSamples ? "count" : "nanoseconds"},
      {"weight_total", top.total},
      {"functions", Json::array()},
      {"paths", Json::array()},
      {"threads", Json::array()},
      {"waits", Json::array()},
      {"warnings", recording.warnings}};
  if (options.split != nullptr) report["split"] = split_json(*options.split);
  for (const auto& process : recording.processes)
    report["processes"].push_back(process_json(process));
  for (const auto& function : top.functions) {
    report["functions"].push_back(
        {{"function", function.function}, {"self", function.self}, {"total", function.total}});
  }
  for (const auto& node : report_paths(recording, names, options, kMaxPathNodes).nodes) {
    report["paths"].push_back({{"function", node.function},
                               {"depth", node.depth},
                               {"self", node.self},
                               {"total", node.total},
                               {"levels", node.levels}});
  }
  for (const auto& waits : profile::wait_times(recording)) {
    report["waits"].push_back({{"syscall", syscall_text(waits.syscall)},
                               {"channel", waits.channel},
                               {"samples", waits.samples},
                               {"threads", waits.threads},
                               {"blocked_ns", waits.blocked.count()}});
  }
  for (const auto& waits : profile::task_waits(recording, names)) {
    report["tasks"].push_back({{"chain", waits.chain},
                               {"samples", waits.samples},
                               {"tasks", waits.tasks},
                               {"waited_ns", waits.waited.count()}});
  }
  for (const auto& label : profile::label_times(recording)) {
    report["labels"].push_back({{"key", label.key},
                                {"value", label.value},
                                {"samples", label.samples},
                                {"cpu_ns", label.cpu.count()},
                                {"runqueue_ns", label.runqueue.count()},
                                {"blocked_ns", label.blocked.count()}});
  }
  if (const auto weight = profile::collector_weight(recording, names, options.weight);
      weight != 0) {
    report["garbage_collection"] = weight;
  }
  if (Json deadlocks = cycles_json(recording, names); !deadlocks.empty()) {
    report["deadlocks"] = std::move(deadlocks);
  }
  put_locks(report, "gil", profile::lock_waits(recording, names, RuntimeWait::kGil));
  put_locks(report, "monitors", profile::lock_waits(recording, names, RuntimeWait::kMonitor));
  put_locks(report, "mutexes", profile::lock_waits(recording, names, RuntimeWait::kMutex));
  put_locks(report, "rwlocks", profile::lock_waits(recording, names, RuntimeWait::kRwlock));
  for (const auto& times : profile::machine_times(recording, names)) {
    report[std::string(language_name(times.language))] = {
        {"cpu_ns", times.all.count()},
        {"collectors_ns", times.collectors.count()},
        {"compilers_ns", times.compilers.count()},
        {"machine_ns", times.machine.count()}};
  }
  for (const auto& times : profile::thread_times(recording)) {
    report["threads"].push_back(thread_json(recording, times));
  }
  // Names come from symbol tables and thread names from programs: neither has to be UTF-8, and
  // either may hold control characters, which must not reach a terminal.
  sink.write(report.dump(1, ' ', true, Json::error_handler_t::replace));
  sink.write("\n");
  return sink.flush();
}

}  // namespace swipr::exporters
