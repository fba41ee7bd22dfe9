#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/top/followed.h"
#include "cli/live/canvas.h"
#include "cli/live/figures.h"
#include "cli/live/screen.h"
#include "cli/live/view.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/terminal/terminal.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using host::Result;

constexpr auto kPaintEvery = 250ms;
constexpr auto kPatience = 5s;  // beyond the window, for --once on a process that does nothing
constexpr std::size_t kPlainColumns = 120;
constexpr std::size_t kPlainRows = 40;

live::View first_view(const options::TopOptions& options) {
  live::View view;
  view.weight = options.weight;
  view.seconds = static_cast<std::size_t>(options.window / 1s);
  return view;
}

std::chrono::milliseconds until(Clock::time_point time) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now());
  return std::max(rest, 0ms);
}

// Waits for one whole window, or for the end of the process, and prints it.
Outcome print_once(Followed& followed, const options::TopOptions& options,
                   session::SignalWatch& signals) {
  const live::View view = first_view(options);
  const auto deadline = Clock::now() + options.window + kPatience;
  for (bool more = true; more && followed.covered(view.seconds) < options.window;) {
    std::array<pollfd, 2> waits = {{{followed.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    const auto rest = until(deadline);
    if (rest == 0ms) break;
    if (::poll(waits.data(), waits.size(), static_cast<int>(rest.count())) <= 0) continue;
    if (signals.try_take()) break;
    if (waits[0].revents == 0) continue;
    const auto read = followed.read();
    if (!read) return read.error();
    more = *read;
  }
  live::Canvas canvas(kPlainColumns, kPlainRows, true);
  live::draw(canvas, followed.figures(view, true), view);
  std::string text = canvas.plain();
  const std::size_t keys = text.rfind('\n', text.size() - 2);
  text.resize(keys + 1);  // nobody types here
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kDone : kFailed;
}

// The loop of the terminal.
class Screen {
 public:
  Screen(Followed& followed, terminal::Terminal& terminal, const options::TopOptions& options)
      : followed_(followed), terminal_(terminal), view_(first_view(options)) {}

  Outcome run(session::SignalWatch& signals) {
    while (!is_done_) {
      const int stream = is_ended_ ? -1 : followed_.fd();
      std::array<pollfd, 4> waits = {{{stream, POLLIN, 0},
                                      {STDIN_FILENO, POLLIN, 0},
                                      {signals.fd(), POLLIN, 0},
                                      {followed_.trace_fd(), POLLIN, 0}}};
      const auto timeout = static_cast<int>(until(next_paint_).count());
      static_cast<void>(::poll(waits.data(), waits.size(), timeout));
      if (waits[0].revents != 0) {
        if (auto read = take_stream(); !read) return read.error();
      }
      if (waits[3].revents != 0) followed_.read_trace();
      if (waits[1].revents != 0) take_keys();
      if ((waits[1].revents & POLLHUP) != 0) return kDone;
      while (const auto signal = signals.try_take()) {
        if (signal->number != SIGWINCH) return kDone;
        terminal_.resize();
        next_paint_ = {};
      }
      if (Clock::now() >= next_paint_) paint();
    }
    return kDone;
  }

 private:
  Result<void> take_stream() {
    const auto read = followed_.read();
    if (!read && !has_figures_) return read.error();
    is_ended_ = !read || !*read;
    if (is_ended_) view_.message = "the process has ended (q: quit)";
    return {};
  }

  void take_keys() {
    while (const auto key = terminal_.try_take_key()) {
      const live::Action action = live::on_key(view_, *key, figures_);
      if (action == live::Action::kQuit) is_done_ = true;
      if (action == live::Action::kTrace) toggle_trace();
      if (action != live::Action::kSave) continue;
      const auto saved = followed_.save(view_);
      view_.message = saved ? "saved as " + *saved : saved.error().message();
    }
    next_paint_ = {};
  }

  void toggle_trace() {
    view_.message = followed_.toggle_trace(live::selected_function(figures_, view_));
  }

  void paint() {
    next_paint_ = Clock::now() + kPaintEvery;
    if (!followed_.is_tracing()) view_.only_slow = false;
    if (!view_.is_paused || !has_figures_) figures_ = followed_.figures(view_, false);
    has_figures_ = true;
    live::Canvas canvas(terminal_.columns(), terminal_.rows(), terminal_.has_utf8());
    live::draw(canvas, figures_, view_);
    terminal_.show(canvas);
  }

  Followed& followed_;
  terminal::Terminal& terminal_;
  live::View view_;
  live::Figures figures_;
  Clock::time_point next_paint_{};
  bool has_figures_ = false;
  bool is_ended_ = false;
  bool is_done_ = false;
};

}  // namespace

Outcome run_top(const options::TopOptions& options) {
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  if (!signals) return signals.error();
  auto target =
      options.pid ? session::connect_target(*options.pid) : session::connect_named(options.name);
  if (!target) return target.error();
  Followed followed(*std::move(target), options);
  const bool has_terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  if (options.once || !has_terminal) return print_once(followed, options, *signals);
  auto terminal = terminal::Terminal::open();
  if (!terminal) return terminal.error().with_context("top");
  return Screen(followed, *terminal, options).run(*signals);
}

}  // namespace swipr::commands
