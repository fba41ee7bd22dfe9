#include "cli/export/report/report_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/export/report/report_processes.h"
#include "cli/export/text/text.h"
#include "common/host/text/count_text.h"
#include "common/host/text/duration.h"

namespace swipr::exporters {

namespace {

using profile::SplitSide;

// Of a weight in nanoseconds, or in samples.
std::string amount(double value, profile::Weight weight) {
  if (weight == profile::Weight::kSamples) return fmt::format("{:.2f}", value);
  return host::format_duration(std::chrono::nanoseconds(std::llround(value)));
}

std::string difference_text(double value, profile::Weight weight) {
  if (value == 0) return "0";
  return (value < 0 ? "-" : "+") + amount(std::abs(value), weight);
}

void put_side(TerminalPage& page, const char* name, const SplitSide& side, bool has_calls,
              const ReportOptions& options) {
  page.line(fmt::format(
      "{:>12} {:>12} {:>12} {:>14}  {}", has_calls ? host::with_thousands(side.calls) : "-",
      host::with_thousands(side.sampled_calls), host::with_thousands(side.samples),
      has_calls ? amount(per_call(side.weight, side), options.weight) : "-", name));
}

void put_row(TerminalPage& page, double slow, double normal, profile::Weight weight,
             std::string_view text) {
  page.put(fmt::format("{:>12} {:>12} ", amount(slow, weight), amount(normal, weight)))
      .put(fmt::format("{:>12}", difference_text(slow - normal, weight)),
           slow > normal ? Style::kHot : Style::kPlain)
      .put("  ")
      .put(text)
      .end_line();
}

std::string owner_text(const profile::SplitLock& lock) {
  if (lock.owner.empty()) return "holder not known";
  return "held by " + lock.owner + (lock.function.empty() ? "" : " in " + lock.function);
}

void put_split_locks(TerminalPage& page, const ReportSplit& split, const ReportOptions& options) {
  if (split.locks.empty()) return;
  page.line(fmt::format("{:>12} {:>12} {:>12}  locks that calls wait for (time per call)", "slow",
                        "others", "difference"),
            Style::kHeading);
  const auto ns_per_call = [](std::chrono::nanoseconds time, const SplitSide& side) {
    return per_call(static_cast<std::uint64_t>(time.count()), side);
  };
  const std::size_t count = std::min(options.row_count, split.locks.size());
  for (std::size_t at = 0; at < count; ++at) {
    const profile::SplitLock& lock = split.locks[at];
    put_row(page, ns_per_call(lock.slow, split.comparison.slow),
            ns_per_call(lock.normal, split.comparison.normal), profile::Weight::kBlocked,
            lock.lock + ", " + owner_text(lock));
  }
  put_rest(page, 40, split.locks.size() - count);
  page.line("");
}

}  // namespace

void put_split(TerminalPage& page, const ReportSplit& split, const ReportOptions& options) {
  const profile::SplitComparison& sides = split.comparison;
  page.line(fmt::format("{}: calls slower than {}{}, compared with the others", split.function,
                        host::format_duration(split.threshold),
                        split.rule.starts_with('p') ? " (" + split.rule + ")" : ""),
            Style::kHeading);
  page.line(fmt::format("{:>12} {:>12} {:>12} {:>14}", "calls", "sampled", "samples", "per call"),
            Style::kHeading);
  put_side(page, "slow", sides.slow, true, options);
  put_side(page, "others", sides.normal, true, options);
  if (sides.unfinished.samples != 0) {
    put_side(page, "not returned, or their end is not known", sides.unfinished, false, options);
  }
  page.line("");
  page.line(fmt::format("{:>12} {:>12} {:>12}  function ({} per call)", "slow", "others",
                        "difference", weight_name(options.weight)),
            Style::kHeading);
  const std::size_t count = std::min(options.row_count, sides.functions.size());
  for (std::size_t at = 0; at < count; ++at) {
    const profile::SplitFunction& function = sides.functions[at];
    put_row(page, per_call(function.slow, sides.slow), per_call(function.normal, sides.normal),
            options.weight, function.function);
  }
  put_rest(page, 40, sides.functions.size() - count);
  page.line("");
  put_split_locks(page, split, options);
}

nlohmann::ordered_json split_json(const ReportSplit& split) {
  const auto side_json = [](const SplitSide& side) {
    return nlohmann::ordered_json{{"calls", side.calls},
                                  {"sampled_calls", side.sampled_calls},
                                  {"samples", side.samples},
                                  {"weight", side.weight}};
  };
  nlohmann::ordered_json json = {{"function", split.function},
                                 {"rule", split.rule},
                                 {"threshold_ns", split.threshold.count()},
                                 {"slow", side_json(split.comparison.slow)},
                                 {"normal", side_json(split.comparison.normal)},
                                 {"unfinished", side_json(split.comparison.unfinished)},
                                 {"functions", nlohmann::ordered_json::array()}};
  for (const profile::SplitFunction& function : split.comparison.functions) {
    json["functions"].push_back(
        {{"function", function.function}, {"slow", function.slow}, {"normal", function.normal}});
  }
  if (!split.locks.empty()) json["locks"] = nlohmann::ordered_json::array();
  for (const profile::SplitLock& lock : split.locks) {
    json["locks"].push_back({{"lock", lock.lock},
                             {"owner", lock.owner},
                             {"function", lock.function},
                             {"slow_ns", lock.slow.count()},
                             {"normal_ns", lock.normal.count()}});
  }
  return json;
}

}  // namespace swipr::exporters
