#include "cli/commands/live/live_view.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/live/followed_process.h"
#include "cli/commands/live/history_writer.h"
#include "cli/commands/live/live_feed.h"
#include "cli/commands/output/browser.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/page/web_page.h"
#include "cli/live/history.h"
#include "cli/serve/page_server.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using host::Result;

constexpr auto kCommitEvery = 250ms;
// What pages have to take the last event, after the end of the process.
constexpr auto kPatience = 5s;

class LiveView {
 public:
  LiveView(session::Target target, const options::ViewOptions& options, serve::PageServer& server)
      : process_(std::move(target), options.interval, options.symbols),
        writer_(history_, process_),
        server_(server) {
    state_.title = fmt::format("{} {}", process_.command(), process_.pid().value);
    state_.interval = options.interval;
    server_.add("", "text/html; charset=utf-8",
                []() -> Result<std::string> { return std::string(exporters::live_page()); });
    server_.add_stream("events", [this]() -> serve::PageServer::Feed {
      return [feed = std::make_shared<LiveFeed>(history_, state_)] { return feed->next(); };
    });
  }

  Outcome run(session::SignalWatch& signals) {
    while (!state_.has_ended) {
      std::array<pollfd, 2> waits = {{{signals.fd(), POLLIN, 0}, {process_.fd(), POLLIN, 0}}};
      if (auto served = server_.serve(waits, until(next_commit_)); !served) return served.error();
      if (waits[0].revents != 0) return stop(signals);
      if (waits[1].revents != 0) {
        if (auto read = take_stream(); !read) return read.error();
      }
      if (state_.has_ended || Clock::now() >= next_commit_) commit();
    }
    print_note(fmt::format("the process has ended: {}", state_.title));
    return finish(signals);
  }

 private:
  static std::chrono::milliseconds until(Clock::time_point time) {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()), 0ms);
  }

  Result<void> take_stream() {
    std::vector<profile::Sample> samples;
    const auto more = process_.read(samples);
    if (!more && state_.version == 0) return more.error();
    if (!more) print_note(more.error().message());
    writer_.add(samples);
    if (!more || !*more) {
      state_.has_ended = true;
    } else if (process_.is_full()) {
      writer_.end_stream();
      if (!process_.restart()) state_.has_ended = true;
      writer_.begin_stream();
    }
    return {};
  }

  void commit() {
    next_commit_ = Clock::now() + kCommitEvery;
    writer_.flush(state_.has_ended);
    state_.dropped = process_.dropped();
    ++state_.version;
    server_.push();
  }

  // Ctrl-C is a normal exit.
  static Outcome stop(session::SignalWatch& signals) {
    while (signals.try_take()) continue;
    return kDone;
  }

  Outcome finish(session::SignalWatch& signals) {
    const auto deadline = Clock::now() + kPatience;
    while (!server_.has_sent_all() && Clock::now() < deadline) {
      pollfd stopped{signals.fd(), POLLIN, 0};
      if (auto served = server_.serve({&stopped, 1}, until(deadline)); !served)
        return served.error();
      if (stopped.revents != 0) return stop(signals);
    }
    return kDone;
  }

  live::History history_;
  FollowedProcess process_;
  HistoryWriter writer_;
  LiveState state_;
  serve::PageServer& server_;
  Clock::time_point next_commit_{};
};

}  // namespace

Outcome run_live_view(const options::ViewOptions& options) {
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target =
      options.pid ? session::connect_target(*options.pid) : session::connect_named(options.name);
  if (!target) return target.error();
  auto server = serve::PageServer::create();
  if (!server) return server.error();
  LiveView view(*std::move(target), options, *server);
  announce(server->url(), options.opens_browser, signals->previous_mask());
  print_note("serving a page to this machine until the process ends, or Ctrl-C");
  return view.run(*signals);
}

}  // namespace swipr::commands
