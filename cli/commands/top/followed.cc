#include "cli/commands/top/followed.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/commands/output/output_file.h"
#include "cli/commands/record/record_output.h"
#include "cli/export/formats/export.h"
#include "cli/export/text/text.h"

namespace swipr::commands {

using host::Result;

Followed::Followed(session::Target target, const options::TopOptions& options)
    : options_(options), process_(std::move(target), options.interval, options.symbols) {}

Result<bool> Followed::read() {
  std::vector<profile::Sample> samples;
  auto more = process_.read(samples);
  if (!more) return more;
  window_.add(samples);
  last_waits_.add(process_.recording(), samples);
  if (!*more || !process_.is_full()) return more;
  if (auto again = process_.restart(); !again) return again.error();
  window_ = {};
  last_waits_ = {};
  return true;
}

std::string Followed::toggle_trace(const std::string& function) {
  if (trace_ != nullptr) {
    trace_.reset();
    return "no function is traced any more";
  }
  if (function.empty()) return "choose a function to trace: in the functions or the call tree";
  const profile::Names& names = process_.names().update(process_.recording(), false);
  const auto address = find_code_of(process_.recording(), names, function);
  if (!address) return fmt::format("{} cannot be traced: it is no native function", function);
  trace_ = std::make_unique<FunctionTrace>(process_.recording(), process_.pid(), *address, function,
                                           options_);
  return {};
}

FollowedProcess& Followed::shown(const live::View& view) {
  return view.only_slow && is_tracing() ? trace_->process() : process_;
}

std::vector<profile::Sample> Followed::shown_samples(const live::View& view) const {
  if (!view.only_slow) return window_.sum(view.seconds);
  return is_tracing() ? trace_->slow_samples(view.seconds) : std::vector<profile::Sample>();
}

live::Figures Followed::figures(const live::View& view, bool waits_for_names) {
  if (trace_ != nullptr) trace_->advance();
  FollowedProcess& process = shown(view);
  profile::Recording& recording = process.recording();
  const profile::Names& names = process.names().update(recording, waits_for_names);
  recording.samples = shown_samples(view);
  auto figures = live::make_figures(recording, names, view.weight,
                                    [&](profile::State state, std::uint32_t stack) {
                                      return exporters::state_frame(recording, state, stack);
                                    });
  recording.samples.clear();
  const profile::Names& all_names = process_.names().update(process_.recording(), false);
  figures.deadlocks = last_waits_.find_cycles(process_.recording(), all_names);
  figures.title = fmt::format("{} {}", process_.command(), process_.pid().value);
  const bool is_slow = &process != &process_;
  figures.covered = is_slow ? trace_->covered(view.seconds) : window_.covered(view.seconds);
  if (!view.only_slow) figures.cpu_per_second = window_.cpu_per_second(view.seconds);
  figures.dropped = (is_slow ? 0 : window_.left_out()) + process.dropped();
  if (trace_ == nullptr) return figures;
  figures.latency = trace_->latency(view.seconds);
  // So that 9 finds names.
  if (is_tracing()) trace_->process().names().update(trace_->process().recording(), false);
  return figures;
}

Result<std::string> Followed::save(const live::View& view) {
  const std::string name = make_free_name(process_.command(), process_.pid(), ".html");
  auto file = OutputFile::create(name);
  if (!file) return file.error();
  FollowedProcess& process = shown(view);
  profile::Recording& recording = process.recording();
  const profile::Names& names = process.names().update(recording, true);
  recording.samples = shown_samples(view);
  exporters::Sink sink(file->fd(), name);
  exporters::Options writing;
  writing.weight = view.weight;
  auto written = exporters::write_html(recording, names, writing, sink);
  recording.samples.clear();
  if (written) written = file->commit();
  if (!written) return written.error();
  return name;
}

}  // namespace swipr::commands
