#include "cli/commands/stores/push_profiles.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/export_recording.h"
#include "cli/export/formats/col_header.h"
#include "cli/export/formats/export.h"
#include "cli/export/text/gzip.h"
#include "cli/profile/filter.h"
#include "cli/push/requests/otlp.h"
#include "common/host/host_facts.h"
#include "common/host/proc.h"
#include "common/host/secret.h"
#include "common/host/unnamed_file.h"

namespace swipr::commands {

namespace {

using host::Error;
using host::Result;
using options::PushOptions;
using push::Engine;
using push::Request;
using Requests = std::vector<Request>;

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
constexpr std::size_t kMostFrames = 1000;  // Pyroscope drops the leaves of longer stacks

// What the stores call a profile with these sample types. The first is the default one.
struct Metric {
  std::string_view name;
  std::vector<profile::Weight> types;
};

std::vector<Metric> metrics_of(const profile::Recording& recording) {
  using profile::Weight;
  const Metric cpu{"process_cpu", {Weight::kCpu, Weight::kSamples}};
  const Metric wall{"wall", {Weight::kWall}};
  const Metric off_cpu{"off_cpu", {Weight::kBlocked}};
  const profile::Mode mode =
      recording.processes.empty() ? profile::Mode::kCpu : recording.processes.front().mode;
  if (mode == profile::Mode::kCpu) return {cpu};
  if (mode == profile::Mode::kOffCpu) return {off_cpu};
  return {cpu, wall, off_cpu};
}

push::Labels labels_of(const StoreNames& names, std::string_view metric) {
  push::Labels labels{{"host", host::read_host_facts().hostname}};
  labels.insert(labels.end(), names.labels.begin(), names.labels.end());
  return push::store_labels(metric, names.service, labels);
}

StoreNames names_of(const PushOptions& options, const std::string& service) {
  return {options.service.empty() ? service : options.service, split_labels(options.labels)};
}

Result<Request> profile_request(const push::StoreUrl& url, const push::Labels& labels,
                                std::string_view gzipped) {
  if (url.engine == Engine::kParca) return push::parca_request(url, labels, gzipped);
  const auto id = host::make_secret();
  if (!id) return id.error();
  return push::pyroscope_request(url, labels, gzipped, *id);
}

Result<Request> otlp_piece(const push::StoreUrl& url, const push::Labels& labels,
                           std::string_view piece) {
  const auto id = host::make_secret();
  if (!id) return id.error();
  const auto profile = push::otlp_profile(piece, labels, std::string_view(*id).substr(0, 16));
  if (!profile) return profile.error();
  auto gzipped = exporters::gzip_bytes(*profile);
  if (!gzipped) return gzipped.error();
  return push::otlp_request(url, *std::move(gzipped));
}

Result<Request> piece_request(const push::StoreUrl& url, const push::Labels& labels,
                              std::string_view piece) {
  if (url.engine == Engine::kOtlp) return otlp_piece(url, labels, piece);
  const auto gzipped = exporters::gzip_bytes(piece);
  if (!gzipped) return gzipped.error();
  return profile_request(url, labels, *gzipped);
}

Result<Request> col_request(const push::StoreUrl& url, const std::string& service,
                            std::string_view col, std::string_view begin, std::string_view end) {
  push::StudioProfile profile{
      col, service, host::read_host_facts().hostname, std::string(begin), std::string(end), ""};
  Request request = push::studio_request(url, profile);
  auto gzipped = exporters::gzip_bytes(request.body);
  if (!gzipped) return gzipped.error();
  request.body = *std::move(gzipped);
  request.headers.emplace_back("Content-Encoding", "gzip");
  return request;
}

std::string service_of(const profile::Recording& recording) {
  return recording.processes.empty() ? "unknown" : recording.processes.front().command_name;
}

Result<Requests> pprof_requests(const push::StoreUrl& url, const StoreNames& store,
                                const profile::Recording& recording, const profile::Names& names) {
  Requests requests;
  for (const Metric& metric : metrics_of(recording)) {
    exporters::Options writing;
    writing.weight = metric.types.front();
    writing.pprof_types = metric.types;
    writing.pprof_labels = exporters::PprofLabels::kOwn;
    writing.pprof_max_frames = kMostFrames;
    const push::Labels labels = labels_of(store, metric.name);
    for (const std::string& piece :
         exporters::make_pprof_pieces(recording, names, writing, exporters::PprofLimits{})) {
      auto request = piece_request(url, labels, piece);
      if (!request) return request.error();
      requests.push_back(*std::move(request));
    }
  }
  return requests;
}

Result<std::string> col_text(const profile::Recording& recording, const profile::Names& names,
                             exporters::Options writing) {
  const host::UniqueFd file = host::make_unnamed_file("swipr-push");
  if (!file) return Error("no memory for the profile");
  writing.host = host::read_host_facts();
  exporters::Sink sink(file.value(), "the profile");
  if (auto done = exporters::write_col(recording, names, writing, sink); !done) return done.error();
  return host::read_file(host::proc_path(Pid{::getpid()}, fmt::format("fd/{}", file.value())),
                         kMostFileBytes);
}

Result<Requests> recording_requests(const PushOptions& options, const push::StoreUrl& url,
                                    const std::string& path, std::vector<std::string>& notes) {
  auto recording = load_recording(path);
  if (!recording) return recording.error();
  profile::credit_cpu(*recording);
  profile::select_labels(*recording, options.thread_labels);
  notes = recording->warnings;
  const NamedRecording named = symbolize_recording(*recording, options.symbols);
  notes.insert(notes.end(), named.notes.begin(), named.notes.end());
  return requests_of_profile(url, names_of(options, service_of(*recording)), *recording,
                             named.names, {});
}

// A series for each set of labels of samples, because Parca keeps the labels of series only.
Result<Requests> labelled_series(const push::StoreUrl& url, const StoreNames& store,
                                 const profile::Recording& recording, const profile::Names& names) {
  std::vector<std::vector<profile::Sample>> samples(recording.label_sets.size() + 1);
  for (profile::Sample sample : recording.samples) {
    const bool is_labelled = sample.labels != profile::kNone;
    std::vector<profile::Sample>& series =
        samples[is_labelled ? sample.labels : samples.size() - 1];
    sample.labels = profile::kNone;
    series.push_back(sample);
  }
  profile::Recording part = recording;
  part.label_sets.clear();
  Requests all;
  for (std::size_t set = 0; set < samples.size(); ++set) {
    if (samples[set].empty()) continue;
    part.samples = std::move(samples[set]);
    StoreNames series = store;
    if (set < recording.label_sets.size()) {
      const profile::LabelSet& labels = recording.label_sets[set];
      series.labels.insert(series.labels.end(), labels.begin(), labels.end());
    }
    auto requests = pprof_requests(url, series, part, names);
    if (!requests) return requests.error();
    std::move(requests->begin(), requests->end(), std::back_inserter(all));
  }
  return all;
}

bool is_gzip(std::string_view text) { return text.starts_with("\x1f\x8b"); }
bool is_col(std::string_view text) { return text.starts_with("# {"); }

// A file that another program made may say a time only in its metadata: now is the end of it.
Result<Requests> col_file_requests(const PushOptions& options, const push::StoreUrl& url,
                                   std::string_view text) {
  const std::string now = exporters::iso_time(std::chrono::system_clock::now().time_since_epoch());
  auto request = col_request(url, names_of(options, "unknown").service, text, now, now);
  if (!request) return request.error();
  return Requests{*std::move(request)};
}

}  // namespace

push::Labels split_labels(const std::vector<std::string>& texts) {
  push::Labels labels;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return labels;
}

Result<Requests> requests_of_profile(const push::StoreUrl& url, const StoreNames& store,
                                     const profile::Recording& recording,
                                     const profile::Names& names,
                                     const exporters::Options& writing) {
  if (url.engine == Engine::kParca && !recording.label_sets.empty()) {
    return labelled_series(url, store, recording, names);
  }
  if (url.engine != Engine::kStudio) return pprof_requests(url, store, recording, names);
  const auto col = col_text(recording, names, writing);
  if (!col) return col.error();
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
  for (const profile::Process& process : recording.processes) {
    if (begin.count() == 0 || process.start_realtime < begin) begin = process.start_realtime;
    end = std::max(end, process.start_realtime + process.duration);
  }
  auto request =
      col_request(url, store.service, *col, exporters::iso_time(begin), exporters::iso_time(end));
  if (!request) return request.error();
  return Requests{*std::move(request)};
}

Result<Requests> make_requests(const PushOptions& options, const push::StoreUrl& url,
                               const std::string& path, std::vector<std::string>& notes) {
  const auto start = host::read_file(path, 4);
  if (!start) return start.error();
  const bool is_studio = url.engine == Engine::kStudio;
  if (!is_gzip(*start) && !is_col(*start)) return recording_requests(options, url, path, notes);
  if (url.engine == Engine::kOtlp) {
    return Error(fmt::format("{}: {} accepts only recordings", path, url.origin()));
  }
  if (is_col(*start) != is_studio) {
    return Error(fmt::format("{}: {} accepts only {} files and recordings", path, url.origin(),
                             is_studio ? ".col" : "pprof"));
  }
  const auto text = host::read_file(path, kMostFileBytes);
  if (!text) return text.error();
  if (is_col(*text)) return col_file_requests(options, url, *text);
  auto request =
      profile_request(url, labels_of(names_of(options, "unknown"), "process_cpu"), *text);
  if (!request) return request.error();
  return Requests{*std::move(request)};
}

}  // namespace swipr::commands
