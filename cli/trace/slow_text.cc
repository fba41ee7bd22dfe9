#include "cli/trace/slow_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/trace/argument_values.h"
#include "common/host/text/clean_text.h"
#include "common/host/text/count_text.h"
#include "common/host/text/duration.h"

namespace swipr::tracing {

namespace {

constexpr std::size_t kNearest = 3;
constexpr std::string_view kRow = "{:<15} {:<22} {:>9}  {}";

std::string place_of(const CallerFrame& frame) {
  if (frame.file.empty()) return frame.function;
  const std::string_view file = frame.file;
  return fmt::format("{} {}:{}", frame.function, file.substr(file.rfind('/') + 1), frame.line);
}

std::string arguments_text(const NamedSlowCall& call) {
  if (call.signature != nullptr) {
    return format_parameters(*call.signature, call.record, call.argument_count);
  }
  const bool has_arguments = (call.record.flags & wire::kSlowHasArguments) != 0;
  std::string text;
  for (std::size_t at = 0; at < std::min(call.argument_count, wire::kMostArguments); ++at) {
    text += at == 0 ? "" : ", ";
    text += has_arguments ? format_argument(call.record.arguments[at]) : "?";
  }
  return text;
}

std::string call_text(const NamedSlowCall& call) {
  std::string text = call.function;
  if (call.argument_count != 0) {
    text = fmt::format("{}({})", without_parameters(call.function), arguments_text(call));
  }
  if ((call.record.flags & wire::kSlowUnwound) != 0) return text + " threw";
  if (call.signature == nullptr) {
    return fmt::format("{} = {}", text, format_argument(call.record.result));
  }
  const std::string result = format_result(*call.signature, call.record);
  return result.empty() ? text : text + " = " + result;
}

}  // namespace

std::string format_argument(std::uint64_t value) {
  constexpr std::uint64_t kSmall = 10'000'000;
  const auto number = static_cast<std::int64_t>(value);
  if (value <= kSmall || (number < 0 && number >= -10'000)) return std::to_string(number);
  return fmt::format("0x{:x}", value);
}

// The last pair of parentheses, with `const` or the like behind it. That of "operator()" is a name,
// and so is that of a scope.
std::string_view without_parameters(std::string_view function) {
  const std::size_t end = function.rfind(')');
  if (end == std::string_view::npos) return function;
  if (function.find("::", end) != std::string_view::npos) return function;
  std::size_t depth = 0;
  for (std::size_t at = end + 1; at-- > 0;) {
    if (function[at] == ')') ++depth;
    if (function[at] == '(' && --depth == 0) {
      const bool is_name = function.substr(0, at).ends_with("operator");
      return is_name || at == 0 ? function : function.substr(0, at);
    }
  }
  return function;
}

std::string format_slow_header() {
  return fmt::format(fmt::runtime(kRow), "TIME", "THREAD", "DURATION", "CALL") + "\n";
}

std::string format_slow_call(const NamedSlowCall& call, bool all_callers) {
  const auto duration = std::chrono::nanoseconds(call.record.duration_ns);
  std::string text =
      host::clean_text(fmt::format(fmt::runtime(kRow), call.time, call.thread,
                                   host::format_duration(duration), call_text(call))) +
      "\n";
  constexpr std::string_view kIndent = "                ";
  if (call.callers.empty()) return text;
  if (all_callers) {
    for (const CallerFrame& frame : call.callers) {
      text += host::clean_text(fmt::format("{}{}{}", kIndent, place_of(frame),
                                           frame.inlined ? " (inlined)" : "")) +
              "\n";
    }
    return call.is_whole ? text : text + fmt::format("{}…\n", kIndent);
  }
  std::string callers;
  for (std::size_t at = 0; at < std::min(kNearest, call.callers.size()); ++at) {
    callers += (at == 0 ? "from " : " < ") + place_of(call.callers[at]);
  }
  if (call.callers.size() > kNearest || !call.is_whole) callers += " < …";
  return text + std::string(kIndent) + host::clean_text(callers) + "\n";
}

std::string format_slow_summary(std::span<const SlowSummary> functions) {
  std::string text;
  for (const SlowSummary& each : functions) {
    const Probe::Counts& counts = each.probe->counts;
    const std::uint64_t calls = each.probe->all.calls();
    const auto all_time = each.probe->all.totals().sum;
    const auto share = [](double part, double whole) {
      return whole > 0 ? fmt::format("{:.1f} %", 100 * std::min(part / whole, 1.0)) : "0 %";
    };
    text += fmt::format("{}: {}, {} slower than {}", each.function, host::counted(calls, "call"),
                        host::with_thousands(counts.slow), each.threshold);
    if (each.threshold.starts_with('p') && counts.threshold.count() != 0) {
      text += fmt::format(" (now {})", host::format_duration(counts.threshold));
    }
    text += fmt::format(": {} of the calls, {} of the time",
                        share(static_cast<double>(counts.slow), static_cast<double>(calls)),
                        share(static_cast<double>(counts.slow_time.count()),
                              static_cast<double>(all_time.count())));
    text = host::clean_text(text) + "\n";
    if (counts.lost != 0) {
      text += fmt::format("  {} of them are not listed: too many at once\n",
                          host::with_thousands(counts.lost));
    }
    if (counts.elsewhere != 0) {
      text += fmt::format("  {} from elsewhere\n", host::counted(counts.elsewhere, "more call"));
    }
  }
  return text;
}

}  // namespace swipr::tracing
