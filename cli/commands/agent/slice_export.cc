#include "cli/commands/agent/slice_export.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <utility>

#include "cli/commands/agent/slice_accounts.h"
#include "cli/commands/agent/slice_files.h"
#include "cli/commands/agent/slice_profile.h"
#include "cli/commands/agent/store_pushers.h"
#include "cli/commands/output/output_file.h"
#include "cli/commands/stores/push_profiles.h"
#include "cli/export/formats/col_header.h"
#include "cli/export/formats/export.h"
#include "cli/profile/filter.h"
#include "cli/push/spool.h"
#include "common/host/host_facts.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

using host::Result;
using Lines = std::vector<std::string>;
using Writer = std::function<Result<void>(exporters::Sink&)>;

class SliceExport {
 public:
  SliceExport(const SliceJob& job, const options::AgentOptions& options)
      : job_(job), options_(options), profile_(make_slice_profile(job, options)) {
    writing_.weight =
        options.mode == profile::Mode::kOffCpu ? profile::Weight::kBlocked : profile::Weight::kCpu;
    writing_.host = host::read_host_facts();
    writing_.col_interval = options.interval;
    writing_.module_names = options.module_names;
    if (!options.external_metadata.empty()) read_metadata();
    for (const std::uint32_t target : profile_.target_of_process) {
      const bool is_known = target != profile::kNone;
      const fleet::Identity identity = is_known ? profile_.identities[target] : fleet::Identity{};
      writing_.origins.push_back({identity.container, identity.application});
    }
  }

  Lines take_lines() { return std::move(lines_); }

  void write_files() {
    const auto end = job_.span.realtime + job_.span.duration;
    const std::string& folder = options_.output_folder;
    const std::string name = find_slice_name(folder, exporters::iso_time(end));
    write_file(name + ".col", "last_profile.col", [this](exporters::Sink& sink) {
      return exporters::write_col(profile_.recording, profile_.names, writing_, sink);
    });
    write_file(name + ".pb.gz", "last_profile.pb.gz", [this](exporters::Sink& sink) {
      return exporters::write_pprof(profile_.recording, profile_.names, writing_, sink);
    });
    if (options_.flamegraph) {
      write_file(name + ".html", "last_flamegraph.html", [this](exporters::Sink& sink) {
        return exporters::write_html(profile_.recording, profile_.names, writing_, sink);
      });
    }
    write_file(name + ".json", "last_accounts.json", [this](exporters::Sink& sink) {
      sink.write(format_slice_accounts(job_, profile_.identities));
      return sink.flush();
    });
    if (options_.keep != 0) remove_old_slices(folder, options_.keep);
  }

  void add_requests(const SliceStore& store) {
    auto spool = push::Spool::open(store.spool_folder, options_.spool_bytes);
    if (!spool) return fail(spool.error());
    if (store.url.engine == push::Engine::kStudio) {
      const std::string& service = options_.push.service;
      add_profile(*spool, store, {service.empty() ? writing_.host.hostname : service, {}},
                  {profile_.recording, profile_.names});
    } else {
      for (const auto& [names, wanted] : groups()) {
        ProfilePart part = part_of(profile_, job_.span, wanted);
        profile::select_labels(part.recording, options_.push.thread_labels);
        add_profile(*spool, store, {names.first, names.second}, part);
      }
    }
    if (spool->dropped() == 0) return;
    lines_.push_back(StorePushers::removal_line(store.url.origin(), spool->dropped()));
  }

 private:
  void read_metadata() {
    const std::string& path = options_.external_metadata;
    const auto text = host::read_file(path, std::size_t{1} << 20);
    auto metadata = text ? exporters::static_metadata(*text) : text.error();
    if (metadata) {
      writing_.metadata = *std::move(metadata);
    } else {
      fail(text ? metadata.error().with_context(path) : metadata.error());
    }
  }

  using GroupKey = std::pair<std::string, push::Labels>;

  // Processes with equal names and labels are one profile.
  std::map<GroupKey, std::vector<bool>> groups() const {
    const push::Labels given = split_labels(options_.push.labels);
    std::map<GroupKey, std::vector<bool>> groups;
    for (std::size_t index = 0; index < profile_.identities.size(); ++index) {
      const fleet::Identity& identity = profile_.identities[index];
      push::Labels labels = identity.labels;
      labels.insert(labels.end(), given.begin(), given.end());
      std::vector<bool>& wanted = groups[{identity.service, std::move(labels)}];
      wanted.resize(profile_.identities.size());
      wanted[index] = true;
    }
    return groups;
  }

  void add_profile(push::Spool& spool, const SliceStore& store, const StoreNames& names,
                   const ProfilePart& part) {
    if (part.recording.samples.empty()) return;
    const auto requests =
        requests_of_profile(store.url, names, part.recording, part.names, writing_);
    if (!requests) return fail(requests.error());
    for (const push::Request& request : *requests) {
      const auto added = spool.add(job_.span.realtime, request);
      if (!added) fail(added.error());
    }
  }

  void write_file(const std::string& name, const std::string& link, const Writer& write) {
    const std::string path = options_.output_folder + "/" + name;
    auto file = OutputFile::create(path);
    if (!file) return fail(file.error());
    exporters::Sink sink(file->fd(), path);
    auto written = write(sink);
    if (written) written = file->commit();
    if (written) written = replace_link(options_.output_folder, link, name);
    if (!written) return fail(written.error());
    lines_.push_back("wrote " + path);
  }

  void fail(const host::Error& error) { lines_.push_back("error " + error.message()); }

  const SliceJob& job_;
  const options::AgentOptions& options_;
  SliceProfile profile_;
  exporters::Options writing_;
  Lines lines_;
};

}  // namespace

Lines export_slice(const SliceJob& job, const options::AgentOptions& options,
                   const std::vector<SliceStore>& stores) {
  SliceExport slice(job, options);
  if (!options.output_folder.empty()) slice.write_files();
  for (const SliceStore& store : stores) slice.add_requests(store);
  return slice.take_lines();
}

}  // namespace swipr::commands
