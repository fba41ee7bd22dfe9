#include "cli/commands/live/live_view.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands/live/followed_calls.h"
#include "cli/commands/live/followed_process.h"
#include "cli/commands/live/history_writer.h"
#include "cli/commands/live/live_deadlocks.h"
#include "cli/commands/live/live_feed.h"
#include "cli/commands/live/started_command.h"
#include "cli/commands/output/browser.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/page/web_page.h"
#include "cli/live/history.h"
#include "cli/serve/page_server.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/command.h"
#include "cli/session/launch/signal_watch.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using host::Result;

constexpr auto kCommitEvery = 250ms;
// What pages have to take the last event, after the end of the process.
constexpr auto kPatience = 5s;
// A command loads its libraries in its own time: functions are searched 1, 3, 7, 15 and 31 s after
// its start again.
constexpr auto kFirstPause = 1s;
constexpr auto kLongestPause = 16s;

using CallsMaker = std::function<Result<std::unique_ptr<FollowedCalls>>()>;

class LiveView {
 public:
  // `calls`: of traced functions; null: none.
  LiveView(session::Target target, const options::ViewOptions& options, serve::PageServer& server,
           std::unique_ptr<FollowedCalls> calls = nullptr)
      : process_(std::move(target), options.interval, options.symbols,
                 calls ? calls->probes() : std::string()),
        writer_(history_, process_),
        server_(server) {
    set_title();
    state_.interval = options.interval;
    if (calls) follow(std::move(calls));
    server_.add("", "text/html; charset=utf-8",
                []() -> Result<std::string> { return std::string(exporters::live_page()); });
    server_.add_stream("events", [this]() -> serve::PageServer::Feed {
      return [feed = std::make_shared<LiveFeed>(history_, state_)] { return feed->next(); };
    });
  }

  // Before run().
  void set_command(std::unique_ptr<StartedCommand> command) { command_ = std::move(command); }
  void trace_when_possible(CallsMaker begin_calls) {
    begin_calls_ = std::move(begin_calls);
    next_try_ = Clock::now();
  }

  Outcome run(session::SignalWatch& signals) {
    while (!state_.has_ended) {
      std::array<pollfd, 4> waits = {{{signals.fd(), POLLIN, 0},
                                      {has_stream_ ? process_.fd() : -1, POLLIN, 0},
                                      {traces_ ? calls_->fd() : -1, POLLIN, 0},
                                      {command_ ? command_->fd() : -1, POLLIN, 0}}};
      if (auto served = server_.serve(waits, until(next_commit_)); !served) return served.error();
      if (waits[1].revents != 0) {
        if (auto read = take_stream(); !read) return read.error();
      }
      if (waits[2].revents != 0) take_calls();
      if (waits[3].revents != 0) take_image();
      if (waits[0].revents != 0 && is_stopped_by(signals)) return kDone;
      if (begin_calls_ && has_stream_ && Clock::now() >= next_try_) try_to_trace();
      if (state_.has_ended || Clock::now() >= next_commit_) commit();
    }
    print_note(fmt::format("the process has ended: {}", state_.title));
    return finish(signals);
  }

 private:
  static std::chrono::milliseconds until(Clock::time_point time) {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()), 0ms);
  }

  void follow(std::unique_ptr<FollowedCalls> calls) {
    calls_ = std::move(calls);
    state_.calls = &calls_->history();
    traces_ = true;
  }

  void set_title() {
    state_.title = fmt::format("{} {}", process_.command(), process_.pid().value);
  }

  Result<void> take_stream() {
    std::vector<profile::Sample> samples;
    const auto more = process_.read(samples);
    if (!more && state_.version == 0 && !command_) return more.error();
    if (!more) print_note(more.error().message());
    deadlocks_.add(process_.recording(), samples);
    writer_.add(samples);
    if (!more || !*more) {
      has_stream_ = false;
      // A command may be about to execute another program.
      state_.has_ended = !command_ || command_->has_ended();
    } else if (process_.is_full()) {
      begin_stream_again();
    }
    return {};
  }

  void begin_stream_again() {
    writer_.end_stream();
    if (!process_.restart()) state_.has_ended = true;
    begin_stream();
  }

  void begin_stream() {
    writer_.begin_stream();
    deadlocks_.begin_stream();
  }

  void try_to_trace() {
    auto calls = begin_calls_();
    const bool is_last = calls || pause_ > kLongestPause;
    if (calls) {
      process_.set_probes((*calls)->probes());
      follow(*std::move(calls));
      begin_stream_again();
    } else if (pause_ == kFirstPause) {
      print_note(calls.error().message() + "; trying again for half a minute");
    } else if (is_last) {
      print_note(calls.error().message());
    }
    if (is_last) begin_calls_ = nullptr;
    next_try_ = Clock::now() + pause_;
    pause_ *= 2;
  }

  // The page goes on without them.
  void take_calls() {
    const auto more = calls_->read(std::chrono::nanoseconds(history_.now_ns()));
    if (!more) print_note(more.error().message());
    traces_ = more && *more;
  }

  // The command has executed another program.
  void take_image() {
    auto target = command_->try_accept();
    if (!target) return;
    writer_.end_stream();
    process_.restart(*std::move(target));
    begin_stream();
    has_stream_ = true;
    set_title();
  }

  void commit() {
    next_commit_ = Clock::now() + kCommitEvery;
    writer_.flush(state_.has_ended);
    state_.dropped = process_.dropped();
    const profile::Recording& recording = process_.recording();
    state_.deadlocks =
        deadlocks_.describe(recording, process_.names().update(recording, state_.has_ended));
    ++state_.version;
    server_.push();
  }

  // Ctrl-C is a normal exit, unless a command gets the signals.
  bool is_stopped_by(session::SignalWatch& signals) {
    while (const auto signal = signals.try_take()) {
      if (command_) command_->on_signal(*signal);
    }
    if (!command_) return true;
    if (command_->has_ended() && !has_stream_) state_.has_ended = true;
    return false;
  }

  Outcome finish(session::SignalWatch& signals) {
    const int code = command_ ? command_->exit_code() : kDone;
    const auto deadline = Clock::now() + kPatience;
    while (!server_.has_sent_all() && Clock::now() < deadline) {
      pollfd stopped{signals.fd(), POLLIN, 0};
      if (auto served = server_.serve({&stopped, 1}, until(deadline)); !served)
        return served.error();
      if (stopped.revents == 0) continue;
      while (signals.try_take()) continue;
      break;
    }
    return code;
  }

  live::History history_;
  FollowedProcess process_;
  HistoryWriter writer_;
  LiveDeadlocks deadlocks_;
  LiveState state_;
  bool has_stream_ = true;
  std::unique_ptr<StartedCommand> command_;  // null: the process was running
  std::unique_ptr<FollowedCalls> calls_;     // null: no function is traced
  bool traces_ = false;
  CallsMaker begin_calls_;  // empty: nothing is to be traced, or it is
  Clock::time_point next_try_{};
  std::chrono::seconds pause_ = kFirstPause;
  serve::PageServer& server_;
  Clock::time_point next_commit_{};
};

Result<std::unique_ptr<FollowedCalls>> begin_calls(Pid pid, const options::ViewOptions& options) {
  options::TraceOptions tracing;
  tracing.pid = pid;
  tracing.functions = options.latency;
  tracing.debug_directories = options.symbols.debug_directories;
  return FollowedCalls::begin(tracing);
}

constexpr std::string_view kServing = "serving a page to this machine until the {} ends, or Ctrl-C";

Outcome view_running(const options::ViewOptions& options, serve::PageServer& server) {
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target =
      options.pid ? session::connect_target(*options.pid) : session::connect_named(options.name);
  if (!target) return target.error();
  std::unique_ptr<FollowedCalls> calls;
  if (!options.latency.empty()) {
    auto begun = begin_calls(target->pid, options);
    if (!begun) return begun.error();
    calls = *std::move(begun);
  }
  LiveView view(*std::move(target), options, server, std::move(calls));
  announce(server.url(), stdout, options.opens_browser, signals->previous_mask());
  print_note(fmt::format(kServing, "process"));
  return view.run(*signals);
}

// The address is not on standard output, which is that of the command.
Outcome view_command(const options::ViewOptions& options, serve::PageServer& server) {
  auto signals =
      session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  if (!signals) return signals.error();
  auto started = StartedCommand::start(options.command, *signals);
  if (auto* failure = std::get_if<session::CommandFailure>(&started)) {
    return Failure{std::move(failure->message), failure->exit_code};
  }
  auto command = std::get<0>(std::move(started));
  auto target = command->wait_for_image(*signals);
  if (!target) {
    const int code = command->exit_code();
    return Failure{session::explain_silence(options.command.front()), code == 0 ? kFailed : code};
  }
  const Pid pid = target->pid;
  LiveView view(*std::move(target), options, server);
  view.set_command(std::move(command));
  announce(server.url(), stderr, options.opens_browser, signals->previous_mask());
  print_note(fmt::format(kServing, "command"));
  if (!options.latency.empty()) {
    view.trace_when_possible([pid, &options] { return begin_calls(pid, options); });
  }
  return view.run(*signals);
}

}  // namespace

Outcome run_live_view(const options::ViewOptions& options) {
  auto server = serve::PageServer::create();
  if (!server) return server.error();
  return options.command.empty() ? view_running(options, *server) : view_command(options, *server);
}

}  // namespace swipr::commands
