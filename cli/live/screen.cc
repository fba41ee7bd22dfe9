#include "cli/live/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/host/text/duration.h"

namespace swipr::live {

namespace {

using std::chrono::nanoseconds;

struct Area {
  std::size_t row;
  std::size_t column;
  std::size_t rows;
  std::size_t columns;
};

constexpr std::array<std::string_view, 5> kWeights = {"samples", "CPU time", "wall time",
                                                      "blocked time", "run-queue time"};

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const double share =
      whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f}", share);
}

double ratio(nanoseconds part, nanoseconds whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}
double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

template <typename Value>
std::string bars(const std::vector<Value>& values, bool has_utf8) {
  constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kPlain = "_.:-=+*#";
  const auto most = values.empty() ? Value{} : *std::max_element(values.begin(), values.end());
  std::string text;
  for (const Value value : values) {
    const auto level = most <= Value{} ? 0 : static_cast<std::size_t>(7 * ratio(value, most));
    if (has_utf8) {
      text += kBars[level];
    } else {
      text += kPlain[level];
    }
  }
  return text;
}

void draw_head(Canvas& canvas, const Figures& figures, const View& view) {
  const double covered = std::max(seconds_of(figures.covered), 1e-9);
  std::size_t at = canvas.put(0, 0, figures.title, canvas.columns() / 3, Style::kBold);
  const std::string text = fmt::format(
      "  {} s  CPU {:.2f} {}  run queue {:.2f}  threads {}  samples {}, {} dropped", view.seconds,
      seconds_of(figures.cpu) / covered, bars(figures.cpu_per_second, canvas.has_utf8()),
      seconds_of(figures.runqueue) / covered, figures.threads.size(), figures.samples,
      figures.dropped);
  at = canvas.put(0, at, text, canvas.columns());
  std::string second = fmt::format("by {}", kWeights[static_cast<std::size_t>(figures.weight)]);
  if (!view.filter.empty() || view.is_typing) second += fmt::format("  filter: {}", view.filter);
  if (view.is_typing) second += "_";
  if (view.only_slow) second += "  ONLY CALLS ABOVE P95";
  if (view.is_paused) second += "  PAUSED";
  if (!view.message.empty()) second += "  " + view.message;
  at = canvas.put(1, 0, second, canvas.columns(), Style::kFaint);
  if (figures.deadlocks.empty()) return;
  const profile::LockCycle& deadlock = figures.deadlocks.front();
  canvas.put(
      1, at,
      fmt::format("  deadlock: {} (for {:.1f} s)", describe(deadlock), seconds_of(deadlock.waited)),
      canvas.columns(), Style::kMore);
}

std::string duration_text(std::optional<nanoseconds> time) {
  return time ? host::format_duration(*time) : "-";
}

// The calls of the traced function.
void draw_latency(Canvas& canvas, const Latency& latency) {
  const std::string figures =
      !latency.state.empty() ? "  " + latency.state
                             : fmt::format("  {:.0f}/s  p50 {}  p95 {}  {}", latency.per_second,
                                           duration_text(latency.p50), duration_text(latency.p95),
                                           bars(latency.histogram, canvas.has_utf8()));
  std::size_t at = canvas.put(2, 0, "CALLS  ", canvas.columns(), Style::kBold);
  at = canvas.put(2, at, latency.function, canvas.columns() / 3);
  canvas.put(2, at, figures, canvas.columns());
}

// The first row that is seen of a pane.
std::size_t first_row(std::size_t selected, std::size_t count, std::size_t room) {
  if (room == 0 || count <= room) return 0;
  return std::min(selected >= room ? selected - room + 1 : 0, count - room);
}

class PaneDrawer {
 public:
  PaneDrawer(Canvas& canvas, const Figures& figures, const View& view)
      : canvas_(canvas), figures_(figures), view_(view) {}

  void draw(Pane pane, Area area) {
    area_ = area;
    pane_ = pane;
    switch (pane) {
      case Pane::kFunctions:
        return functions();
      case Pane::kTree:
        return tree();
      case Pane::kThreads:
        return threads();
      case Pane::kLocks:
        return locks();
    }
  }

 private:
  void heading(std::string_view text) {
    canvas_.put(area_.row, area_.column, text, area_.columns,
                view_.pane == pane_ ? Style::kBold : Style::kFaint);
  }

  // Calls `draw_row(index, row of the screen)` for the rows that are seen.
  template <typename DrawRow>
  void rows(std::size_t count, const DrawRow& draw_row) {
    const std::size_t room = area_.rows - 1;
    const std::size_t wanted = view_.selected[static_cast<std::size_t>(pane_)];
    const std::size_t selected = std::min(wanted, count == 0 ? 0 : count - 1);
    const std::size_t first = first_row(selected, count, room);
    for (std::size_t at = first; at < std::min(count, first + room); ++at) {
      const std::size_t row = area_.row + 1 + at - first;
      draw_row(at, row);
      if (at == selected && view_.pane == pane_) {
        canvas_.set_style(row, area_.column, area_.columns, Style::kSelected);
      }
    }
    if (count == 0 && room > 0) {
      canvas_.put(area_.row + 1, area_.column, "  nothing", area_.columns, Style::kFaint);
    }
  }

  void number(std::size_t row, std::size_t end, const std::string& text,
              Style style = Style::kNormal) {
    canvas_.put_right(row, area_.column + end, text, style);
  }

  void name(std::size_t row, std::size_t from, std::string_view text) {
    if (from < area_.columns) {
      canvas_.put(row, area_.column + from, text, area_.columns - from);
    }
  }

  void functions() {
    const auto shown = shown_functions(figures_, view_);
    const bool compares = view_.baseline && view_.shows_difference;
    const std::string sorted = view_.sort == Sort::kSelf    ? "self"
                               : view_.sort == Sort::kTotal ? "total"
                                                            : "change";
    heading(
        fmt::format(" SELF %  TOTAL %{}  FUNCTION (by {})", compares ? "  CHANGE" : "", sorted));
    const std::size_t whole_column = compares ? 26 : 18;
    rows(shown.size(), [&](std::size_t at, std::size_t row) {
      const profile::TopFunction& function = shown[at];
      number(row, 7, percent(function.self, figures_.functions.total));
      number(row, 16, percent(function.total, figures_.functions.total));
      if (const auto change = change_of(function, figures_, view_)) {
        const Style style = *change > 0.001    ? Style::kMore
                            : *change < -0.001 ? Style::kLess
                                               : Style::kFaint;
        number(row, 24, fmt::format("{:+.1f}", 100 * *change), style);
      }
      name(row, whole_column, function.function);
    });
  }

  void tree() {
    const auto shown = shown_tree(figures_, view_);
    heading("TOTAL %  CALL TREE (Enter opens and closes)");
    rows(shown.size(), [&](std::size_t at, std::size_t row) {
      const profile::PathNode& node = *shown[at].node;
      number(row, 7, percent(node.total, figures_.functions.total));
      const bool utf8 = canvas_.has_utf8();
      const std::string_view mark = !shown[at].has_children ? " "
                                    : shown[at].is_closed   ? utf8 ? "▸" : "+"
                                    : utf8                  ? "▾"
                                                            : "-";
      const std::size_t indent = std::min<std::size_t>(node.depth, area_.columns / 3);
      name(row, 9 + indent, fmt::format("{} {}", mark, node.function));
    });
  }

  void threads() {
    const auto shown = shown_threads(figures_, view_);
    heading(" CPU %  QUEUE %  BLOCKED %  THREAD");
    const double covered = std::max(seconds_of(figures_.covered), 1e-9);
    const auto share = [&](nanoseconds time) {
      return fmt::format("{:.1f}", 100 * seconds_of(time) / covered);
    };
    rows(shown.size(), [&](std::size_t at, std::size_t row) {
      const Figures::Thread& thread = *shown[at];
      number(row, 6, share(thread.times.cpu));
      number(row, 15, share(thread.times.runqueue));
      number(row, 26, share(thread.times.blocked));
      name(row, 28, fmt::format("{} {}", thread.name, thread.tid.value));
    });
  }

  // They may have lasted for hours, and the column is narrow.
  static int digits(const LockRow& lock) { return lock.waited < std::chrono::minutes(1) ? 2 : 0; }

  void locks() {
    const auto shown = shown_locks(figures_);
    heading(" WAITED  LOCK, AND WHO HOLDS IT");
    rows(shown.size(), [&](std::size_t at, std::size_t row) {
      number(row, 7, fmt::format("{:.{}f} s", seconds_of(shown[at].waited), digits(shown[at])));
      name(row, 9, shown[at].text);
      if (shown[at].is_deadlock) {
        canvas_.set_style(row, area_.column, area_.columns, Style::kMore);
      }
    });
  }

  Canvas& canvas_;
  const Figures& figures_;
  const View& view_;
  Area area_{};
  Pane pane_ = Pane::kFunctions;
};

void draw_help(Canvas& canvas) {
  constexpr auto kLines = std::to_array<std::string_view>({
      "Tab        next pane: functions, call tree, threads, locks",
      "Up Down    choose a row (also k and j, PgUp and PgDn)",
      "Enter      open or close a node of the call tree",
      "/          filter by a part of the name; Esc clears it",
      "s          sort functions by self, total or change",
      "w          weight: CPU time, wall time, blocked time, run-queue time, samples",
      "+ -        longer or shorter window of time",
      "p          pause",
      "b          take what is shown as the baseline; changes since then are shown",
      "d          show or hide the changes",
      "t          trace the chosen function: rate and durations of its calls; again: end",
      "9          only samples in its calls above their 95th percentile, or all samples",
      "S          save the window as an HTML page",
      "q          quit",
  });
  for (std::size_t at = 0; at < kLines.size(); ++at) {
    canvas.put(3 + at, 2, kLines[at], canvas.columns());
  }
}

}  // namespace

void draw(Canvas& canvas, const Figures& figures, const View& view) {
  draw_head(canvas, figures, view);
  if (canvas.rows() < 5) return;
  const std::size_t last = canvas.rows() - 1;
  canvas.put(last, 0,
             "Tab pane  / filter  s sort  w weight  t trace  9 slow  ? help  q quit  +- window  "
             "p pause  b baseline  d change  S save",
             canvas.columns(), Style::kFaint);
  if (view.shows_help) return draw_help(canvas);
  PaneDrawer drawer(canvas, figures, view);
  const std::size_t top = figures.latency ? 3 : 2;
  if (figures.latency) draw_latency(canvas, *figures.latency);
  const std::size_t rows = last - top;
  if (canvas.columns() < kWideColumns)
    return drawer.draw(view.pane, {top, 0, rows, canvas.columns()});
  const std::size_t half = canvas.columns() / 2;
  const std::size_t upper = rows - std::max<std::size_t>(rows / 3, 3);
  drawer.draw(Pane::kFunctions, {top, 0, upper, half - 1});
  drawer.draw(Pane::kTree, {top, half + 1, upper, canvas.columns() - half - 1});
  drawer.draw(Pane::kThreads, {top + upper, 0, rows - upper, half - 1});
  drawer.draw(Pane::kLocks, {top + upper, half + 1, rows - upper, canvas.columns() - half - 1});
}

}  // namespace swipr::live
