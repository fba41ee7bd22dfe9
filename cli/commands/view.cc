#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/live/live_view.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/browser.h"
#include "cli/commands/output/filters.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/record/record_output.h"
#include "cli/commands/view_pages.h"
#include "cli/serve/speedscope_files.h"
#include "cli/session/launch/signal_watch.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

// Records as `swipr record` does; the file is kept.
Outcome record_first(const options::ViewOptions& options, const std::string& output) {
  options::RecordOptions recording;
  recording.pid = options.pid;
  recording.duration = options.duration;
  recording.output = output;
  return run_record(recording);
}

host::Result<ViewedRecording> load(const std::vector<std::string>& paths,
                                   const options::ViewOptions& options) {
  auto inputs = load_inputs(paths, "", options.filters, Credit::kNo);
  if (!inputs) return inputs.error();
  ViewedRecording viewed;
  viewed.in_order = std::move(inputs->recording);
  NamedRecording named = symbolize_recording(viewed.in_order, options.symbols);
  viewed.names = std::move(named.names);
  if (auto kept = filter_stacks(viewed.in_order, viewed.names, options.filters); !kept) {
    return kept.error();
  }
  print_notes(viewed.in_order.warnings);
  print_notes(named.notes);
  viewed.added_up = viewed.in_order;
  profile::credit_cpu(viewed.added_up);
  return viewed;
}

}  // namespace

Outcome run_view(const options::ViewOptions& options) {
  if (options.is_live) return run_live_view(options);
  std::vector<std::string> paths = options.inputs;
  if (options.pid) {
    const auto status = host::read_process_status(*options.pid);
    paths = {make_free_name(status ? status->name : "", *options.pid, ".swipr")};
    if (Outcome recorded = record_first(options, paths.front()); recorded.exit_code() != kDone) {
      return recorded;
    }
  }
  const auto viewed = load(paths, options);
  if (!viewed) return viewed.error();
  auto server = serve::PageServer::create();
  if (!server) return server.error();
  add_pages(*server, *viewed);
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  if (serve::speedscope_files().empty()) {
    print_note("this build has no speedscope (npm was missing); the other pages work");
  }
  announce(server->url(), stdout, options.opens_browser, signals->previous_mask());
  print_note("serving pages to this machine until Ctrl-C");
  const auto served = server->run(signals->fd());
  // Takes the pending signal, so that Ctrl-C is a normal exit.
  while (signals->try_take()) continue;
  if (!served) return served.error();
  return kDone;
}

}  // namespace swipr::commands
