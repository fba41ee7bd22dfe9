#include "cli/commands/agent/agent_counters.h"

#include <fmt/format.h>

#include <string_view>

namespace swipr::commands {

namespace {

double seconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

class MetricsText {
 public:
  template <typename Value>
  void add(std::string_view name, std::string_view type, Value value) {
    begin(name, type);
    add_value(name, "", value);
  }
  void begin(std::string_view name, std::string_view type) {
    text_ += fmt::format("# TYPE swipr_agent_{} {}\n", name, type);
  }
  template <typename Value>
  void add_value(std::string_view name, const std::string& labels, Value value) {
    text_ += fmt::format("swipr_agent_{}{} {}\n", name, labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_stores(const AgentCounters& counters, MetricsText& text) {
  text.begin("push_total", "counter");
  for (const auto& entry : counters.stores) {
    const StoreCounters& store = entry.second;
    const auto add = [&](std::string_view outcome, std::uint64_t value) {
      text.add_value("push_total",
                     fmt::format("{{store=\"{}\",outcome=\"{}\"}}", entry.first, outcome), value);
    };
    add("stored", store.stored);
    add("refused", store.refused);
    add("unknown", store.unknown);
    add("too_old", store.too_old);
    add("spool_full", store.removed);
    add("asked_again", store.asked_again);
  }
  text.begin("spool_bytes", "gauge");
  for (const auto& [origin, store] : counters.stores) {
    text.add_value("spool_bytes", fmt::format("{{store=\"{}\"}}", origin), store.spool_bytes);
  }
}

}  // namespace

std::string format_metrics(const AgentCounters& counters) {
  MetricsText text;
  text.add("targets", "gauge", counters.targets);
  text.add("targets_recorded", "gauge", counters.recorded);
  text.add("targets_slowed", "gauge", counters.slowed);
  text.add("targets_left_out", "gauge", counters.left_out);
  text.add("slices_total", "counter", counters.slices);
  text.add("slices_lost_total", "counter", counters.slices_lost);
  text.add("slices_extended_total", "counter", counters.slices_extended);
  text.add("samples_total", "counter", counters.samples);
  text.add("errors_total", "counter", counters.errors);
  text.add("cpu_seconds_total", "counter", seconds(counters.kernel_cpu));
  text.add("recorded_cpu_seconds_total", "counter", seconds(counters.recorded_cpu));
  text.begin("unrecorded_cpu_seconds_total", "counter");
  for (std::size_t index = 0; index < fleet::kUnrecordedCount; ++index) {
    const auto reason = static_cast<fleet::Unrecorded>(index);
    text.add_value("unrecorded_cpu_seconds_total",
                   fmt::format("{{reason=\"{}\"}}", unrecorded_name(reason)),
                   seconds(counters.unrecorded_cpu[index]));
  }
  text.add("export_cpu_seconds_total", "counter", seconds(counters.export_cpu));
  text.add("export_peak_bytes", "gauge", counters.export_peak_bytes);
  text.add("process_cpu_seconds_total", "counter", seconds(counters.agent_cpu));
  text.add("process_resident_memory_bytes", "gauge", counters.agent_bytes);
  if (!counters.stores.empty()) add_stores(counters, text);
  return text.take();
}

}  // namespace swipr::commands
