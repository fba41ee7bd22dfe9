#include "cli/trace/latency_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/live/canvas.h"
#include "cli/trace/modes.h"
#include "cli/trace/time_axis.h"
#include "common/host/text/clean_text.h"
#include "common/host/text/count_text.h"
#include "common/host/text/duration.h"

namespace swipr::tracing {

namespace {

using live::Canvas;
using std::chrono::nanoseconds;

constexpr std::size_t kCountColumns = 11;
constexpr std::size_t kTimeColumns = 8;
constexpr std::size_t kClockColumns = 9;  // "12:00:01 "
constexpr std::size_t kWide = 110;        // from here on there is room for more columns
constexpr std::size_t kMaxRows = 16;
constexpr std::size_t kLabelColumns = 9;
constexpr std::size_t kShareColumns = 8;
constexpr std::size_t kChartColumns = 23;  // of one function, at least

std::string short_count(double count) {
  if (count < 10 && count != std::floor(count)) return fmt::format("{:.1f}", count);
  if (count < 1e8) return host::with_thousands(static_cast<std::uint64_t>(std::llround(count)));
  return fmt::format("{:.4g} M", count / 1e6);
}

std::string short_time(std::optional<nanoseconds> time) {
  return time ? host::format_duration(*time) : "-";
}

double per_second(const FunctionLatency& function) {
  const double seconds = std::chrono::duration<double>(function.traced).count();
  return seconds > 0 ? static_cast<double>(function.durations.calls()) / seconds : 0;
}

std::string percent(double share) {
  if (share >= 0.9995) return "100 %";
  return share < 0.0005 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * share);
}

struct Column {
  std::string title;
  std::size_t width;
};

// Of the running table and of the summary, behind the name.
std::vector<Column> columns_of(const Page& page) {
  std::vector<Column> columns = {{"CALLS/S", kCountColumns}};
  for (const QuantileName& quantile : kQuantiles) {
    std::string title = quantile.name;
    title.front() = 'P';
    columns.push_back({title, kTimeColumns});
  }
  columns.push_back({"MAX", kTimeColumns});
  if (page.columns < kWide) return columns;
  columns.push_back({"MEAN", kTimeColumns});
  columns.push_back({"THROWN", kTimeColumns});
  return columns;
}

std::vector<std::string> cells_of(const FunctionLatency& function) {
  const Durations& durations = function.durations;
  std::vector<std::string> cells = {short_count(per_second(function))};
  for (const QuantileName& quantile : kQuantiles) {
    cells.push_back(short_time(durations.quantile(quantile.share)));
  }
  cells.push_back(short_time(durations.quantile(1)));
  cells.push_back(short_time(durations.mean()));
  cells.push_back(short_count(static_cast<double>(durations.totals().exceptions)));
  return cells;
}

class Table {
 public:
  Table(const Page& page, std::size_t rows, std::size_t first_column)
      : columns_(columns_of(page)),
        canvas_(page.columns, rows, page.has_utf8),
        first_(first_column),
        name_columns_(page.columns - first_column) {
    for (const Column& column : columns_) name_columns_ -= std::min(name_columns_, column.width);
  }

  void put_header(std::size_t row) {
    canvas_.put(row, first_, "FUNCTION", name_columns_);
    std::size_t end = first_ + name_columns_;
    for (const Column& column : columns_) canvas_.put_right(row, end += column.width, column.title);
  }

  void put(std::size_t row, const FunctionLatency& function) {
    canvas_.put(row, first_, function.name, name_columns_);
    const std::vector<std::string> cells = cells_of(function);
    std::size_t end = first_ + name_columns_;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      canvas_.put_right(row, end += columns_[at].width, cells[at]);
    }
  }

  // Each with its threads below it.
  void put_all(std::size_t row, std::span<const FunctionLatency> functions) {
    for (const FunctionLatency& function : functions) {
      put(row++, function);
      for (const FunctionLatency& thread : function.threads) put(row++, thread);
    }
  }

  Canvas& canvas() { return canvas_; }

 private:
  std::vector<Column> columns_;
  Canvas canvas_;
  std::size_t first_;
  std::size_t name_columns_;
};

// Eighths of a column where there is UTF-8. What is not nothing is seen.
std::string bar(double share, double full, std::size_t columns, bool has_utf8) {
  static constexpr std::array<std::string_view, 8> kPart = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (share <= 0 || full <= 0) return {};
  const double exact = std::min(share / full, 1.0) * static_cast<double>(columns);
  const auto parts = [exact](double per_column) {
    return static_cast<std::size_t>(std::max(std::round(per_column * exact), 1.0));
  };
  if (!has_utf8) return std::string(parts(1), '#');
  const std::size_t eighths = parts(8);
  std::string text;
  for (std::size_t column = 0; column < eighths / 8; ++column) text += "█";
  return text.append(kPart[eighths % 8]);
}

// Histograms of these functions: beside each other on one axis, or one below the other if that axis
// would have too few rows for each.
std::string format_charts(std::span<const FunctionLatency> functions, const Page& page) {
  std::vector<const Durations*> durations;
  for (const FunctionLatency& function : functions) durations.push_back(&function.durations);
  const TimeAxis axis = make_time_axis(durations, kMaxRows);
  if (axis.begins.empty()) return {};
  if (axis.is_coarse && functions.size() > 1) {
    std::string text;
    for (std::size_t at = 0; at < functions.size(); ++at) {
      text += (at == 0 ? "" : "\n") + format_charts(functions.subspan(at, 1), page);
    }
    return text;
  }
  const std::size_t width = (page.columns - kLabelColumns) / functions.size();
  Canvas canvas(page.columns, axis.begins.size() + 1, page.has_utf8);
  canvas.put_right(0, kLabelColumns, "FROM");
  for (std::size_t row = 0; row < axis.begins.size(); ++row) {
    canvas.put_right(row + 1, kLabelColumns,
                     row == 0 ? "less" : host::format_duration(axis.begins[row]));
  }
  for (std::size_t at = 0; at < functions.size(); ++at) {
    const std::vector<double> shares = shares_of(*durations[at], axis);
    const double full = *std::max_element(shares.begin(), shares.end());
    const std::size_t begin = kLabelColumns + at * width;
    canvas.put(0, begin + 3, functions[at].name, width - 4);
    for (std::size_t row = 0; row < shares.size(); ++row) {
      if (shares[row] <= 0) continue;
      canvas.put_right(row + 1, begin + kShareColumns, percent(shares[row]));
      const std::size_t room = width - kShareColumns - 2;
      canvas.put(row + 1, begin + kShareColumns + 1, bar(shares[row], full, room, page.has_utf8),
                 room);
    }
  }
  return canvas.plain();
}

std::string describe(const FunctionLatency& function) {
  const Durations& durations = function.durations;
  const Durations::Totals& totals = durations.totals();
  std::string text =
      fmt::format("{} ({}): {} in {}", function.name, function.module,
                  host::counted(durations.calls(), "call"), host::format_duration(function.traced));
  if (const auto mean = durations.mean()) text += ", mean " + host::format_duration(*mean);
  text = host::clean_text(text) + "\n";
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, std::string_view what) {
    if (count != 0) parts.push_back(fmt::format("{} {}", host::with_thousands(count), what));
  };
  add(totals.exceptions, "ended by an exception");
  add(totals.untraced, "more not measured");
  add(function.open, "not returned yet");
  add(function.elsewhere, "from elsewhere");
  if (!parts.empty()) text += fmt::format("  {}\n", fmt::join(parts, ", "));
  if (const std::string ways = describe_modes(durations); !ways.empty()) text += "  " + ways + "\n";
  if (!function.end.empty()) {
    text += fmt::format("  no longer traced: {}\n", host::clean_text(function.end));
  }
  return text;
}

std::size_t count_rows(std::span<const FunctionLatency> functions) {
  std::size_t rows = functions.size();
  for (const FunctionLatency& function : functions) rows += function.threads.size();
  return rows;
}

std::string ways(std::size_t count) {
  static constexpr std::array<std::string_view, 8> kWords = {"",     "",     "two", "three",
                                                             "four", "five", "six", "seven"};
  return count < kWords.size() ? fmt::format("{} ways", kWords[count])
                               : fmt::format("{} ways", count);
}

}  // namespace

std::string describe_modes(const Durations& durations) {
  const std::vector<Mode> modes = find_modes(durations);
  if (modes.size() < 2) return {};
  std::vector<std::string> texts;
  for (const Mode& mode : modes) {
    texts.push_back(fmt::format("{} ({:.0f} %)", host::format_duration(mode.peak),
                                std::max(100 * mode.share, 1.0)));
  }
  return fmt::format("{}: {}", ways(modes.size()), fmt::join(texts, ", "));
}

std::string format_summary(std::span<const FunctionLatency> functions, const Page& page) {
  std::string text;
  for (const FunctionLatency& function : functions) text += describe(function);
  std::vector<FunctionLatency> called;
  for (const FunctionLatency& function : functions) {
    if (function.durations.calls() != 0) called.push_back(function);
  }
  if (called.empty()) return text;
  Table table(page, count_rows(called) + 1, 0);
  table.put_header(0);
  table.put_all(1, called);
  text += "\n" + table.canvas().plain();
  const std::size_t most = std::max<std::size_t>((page.columns - kLabelColumns) / kChartColumns, 1);
  for (std::size_t first = 0; first < called.size(); first += most) {
    const std::size_t count = std::min(most, called.size() - first);
    text += "\n" + format_charts(std::span(called).subspan(first, count), page);
  }
  return text + "\nQuantiles are within 1.6 % of the measured durations.\n";
}

std::string format_table_header(const Page& page) {
  Table table(page, 1, kClockColumns);
  table.canvas().put(0, 0, "TIME", kClockColumns);
  table.put_header(0);
  return table.canvas().plain();
}

std::string format_table_rows(std::string_view time, std::span<const FunctionLatency> functions,
                              const Page& page) {
  Table table(page, count_rows(functions), kClockColumns);
  if (!functions.empty()) table.canvas().put(0, 0, time, kClockColumns);
  table.put_all(0, functions);
  return table.canvas().plain();
}

}  // namespace swipr::tracing
