#include "cli/options/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "common/host/text/duration.h"

namespace swipr::options {

namespace {

using host::Error;
using host::Result;
using std::chrono::nanoseconds;

template <typename Value, std::size_t kCount>
Result<Value> find_word(const std::array<std::pair<std::string_view, Value>, kCount>& words,
                        std::string_view what, std::string_view text) {
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known += known.empty() ? "" : ", ";
    known += word;
  }
  return Error(fmt::format("unknown {} '{}': use one of {}", what, text, known));
}

Error no_svg(std::string_view what) {
  return Error(fmt::format(
      "{}: there is no SVG output; use --format html, or --format collapsed | flamegraph.pl",
      what));
}

template <typename Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<nanoseconds> check_interval(nanoseconds interval, std::string_view what,
                                   std::string_view text) {
  if (interval >= kMinInterval && interval <= kMaxInterval) return interval;
  return Error(
      fmt::format("{} '{}' is out of range: the interval must be from {} (--rate 10000) to {}",
                  what, text, host::format_duration(kMinInterval), "1 h"));
}

}  // namespace

Result<Format> parse_format(std::string_view text) {
  if (text == "raw") return Format::kRaw;
  auto format = parse_target_format(text);
  if (format || text == "svg") return format;
  return Error(format.error().message() + ", raw");
}

Result<Format> parse_target_format(std::string_view text) {
  static constexpr std::array kFormats = {
      std::pair{std::string_view("html"), Format::kHtml},
      std::pair{std::string_view("pprof"), Format::kPprof},
      std::pair{std::string_view("speedscope"), Format::kSpeedscope},
      std::pair{std::string_view("firefox"), Format::kFirefox},
      std::pair{std::string_view("perf"), Format::kPerf},
      std::pair{std::string_view("collapsed"), Format::kCollapsed},
      std::pair{std::string_view("col"), Format::kCol},
  };
  if (text == "svg") return no_svg("--format svg");
  return find_word(kFormats, "format", text);
}

Result<Format> find_format_of_file(std::string_view name) {
  static constexpr std::array kSuffixes = {
      std::pair{std::string_view(".html"), Format::kHtml},
      std::pair{std::string_view(".htm"), Format::kHtml},
      std::pair{std::string_view(".pb.gz"), Format::kPprof},
      std::pair{std::string_view(".pprof"), Format::kPprof},
      std::pair{std::string_view(".speedscope.json"), Format::kSpeedscope},
      std::pair{std::string_view(".firefox.json.gz"), Format::kFirefox},
      std::pair{std::string_view(".firefox.json"), Format::kFirefox},
      std::pair{std::string_view(".perf"), Format::kPerf},
      std::pair{std::string_view(".collapsed"), Format::kCollapsed},
      std::pair{std::string_view(".col"), Format::kCol},
      std::pair{std::string_view(".folded"), Format::kCollapsed},
  };
  for (const auto& [suffix, format] : kSuffixes) {
    if (name.ends_with(suffix)) return format;
  }
  if (name.ends_with(".svg")) return no_svg(name);
  if (name.ends_with(".json") || name.ends_with(".json.gz")) {
    return Error(
        fmt::format("{} may be speedscope or firefox: add --format, or use .speedscope.json or "
                    ".firefox.json.gz",
                    name));
  }
  return Error(fmt::format("the suffix of {} is not that of a format: add --format", name));
}

Result<Weight> parse_weight(std::string_view text) {
  static constexpr std::array kWeights = {
      std::pair{std::string_view("samples"), Weight::kSamples},
      std::pair{std::string_view("cpu"), Weight::kCpu},
      std::pair{std::string_view("wall"), Weight::kWall},
      std::pair{std::string_view("blocked"), Weight::kBlocked},
      std::pair{std::string_view("runqueue"), Weight::kRunqueue},
  };
  return find_word(kWeights, "weight", text);
}

Result<profile::Mode> parse_mode(std::string_view text) {
  using profile::Mode;
  static constexpr std::array kModes = {
      std::pair{std::string_view("wall"), Mode::kWall},
      std::pair{std::string_view("cpu"), Mode::kCpu},
      std::pair{std::string_view("offcpu"), Mode::kOffCpu},
  };
  return find_word(kModes, "mode", text);
}

Result<bool> parse_jitter(std::string_view text) {
  static constexpr std::array kWords = {std::pair{std::string_view("on"), true},
                                        std::pair{std::string_view("off"), false}};
  return find_word(kWords, "jitter", text);
}

Result<profile::StateSet> parse_states(std::string_view text) {
  using profile::State;
  static constexpr std::array kStates = {
      std::pair{std::string_view("running"), State::kRunning},
      std::pair{std::string_view("runnable"), State::kRunnable},
      std::pair{std::string_view("blocked"), State::kBlocked},
      std::pair{std::string_view("unknown"), State::kUnknown},
  };
  profile::StateSet states;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto state = find_word(kStates, "state", text.substr(begin, end - begin));
    if (!state) return state.error();
    states.add(*state);
    begin = end + 1;
  }
  return states;
}

Result<profile::FrameKinds> parse_frame_kinds(std::string_view text) {
  using profile::FrameKinds;
  static constexpr std::array kWords = {
      std::pair{std::string_view("mixed"), FrameKinds::kMixed},
      std::pair{std::string_view("native"), FrameKinds::kNative},
      std::pair{std::string_view("language"), FrameKinds::kLanguage},
  };
  return find_word(kWords, "frames", text);
}

Result<StateFrames> parse_state_frames(std::string_view text) {
  static constexpr std::array kWords = {
      std::pair{std::string_view("on"), StateFrames::kOn},
      std::pair{std::string_view("off"), StateFrames::kOff},
  };
  return find_word(kWords, "state-frames", text);
}

Result<PprofLabels> parse_pprof_labels(std::string_view text) {
  static constexpr std::array kWords = {
      std::pair{std::string_view("all"), PprofLabels::kAll},
      std::pair{std::string_view("own"), PprofLabels::kOwn},
      std::pair{std::string_view("thread"), PprofLabels::kThread},
      std::pair{std::string_view("none"), PprofLabels::kNone},
  };
  return find_word(kWords, "pprof-labels", text);
}

Result<profile::LabelPattern> parse_label_pattern(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string_view::npos) {
    return Error(fmt::format("label '{}' is not KEY=VALUE", text));
  }
  return profile::LabelPattern{std::string(text.substr(0, sign)),
                               std::string(text.substr(sign + 1))};
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  if (!parse_whole(text, count) || count == 0) {
    return Error(fmt::format("count '{}' is not a positive number of ticks", text));
  }
  return count;
}

Result<std::size_t> parse_top(std::string_view text) {
  std::size_t count = 0;
  if (!parse_whole(text, count) || count == 0) {
    return Error(fmt::format("top '{}' is not a positive number of lines", text));
  }
  return count;
}

Result<Pid> parse_pid(std::string_view text) {
  Pid pid;
  if (!parse_whole(text, pid.value) || pid.value <= 0) {
    return Error(fmt::format("'{}' is not a process id; `swipr list` shows them", text));
  }
  return pid;
}

Result<nanoseconds> parse_length(std::string_view text) {
  auto duration = host::parse_duration(text);
  if (!duration) return duration.error().with_context("--duration");
  if (*duration <= nanoseconds(0)) return Error("--duration: must be more than 0");
  return duration;
}

Result<nanoseconds> parse_moment(std::string_view text) {
  if (text == "0") return nanoseconds(0);
  auto moment = host::parse_duration(text);
  if (!moment) return moment.error();
  if (*moment < nanoseconds(0))
    return Error("must not be negative: times count from the start of the recording");
  return moment;
}

Result<nanoseconds> parse_interval(std::string_view text) {
  auto interval = host::parse_duration(text);
  if (!interval) return interval.error().with_context("--interval");
  return check_interval(*interval, "interval", text);
}

Result<nanoseconds> parse_rate(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with("Hz")) number.remove_suffix(2);
  if (number.ends_with(' ')) number.remove_suffix(1);
  double rate = 0;
  if (!parse_whole(number, rate) || !std::isfinite(rate) || rate <= 0) {
    return Error(fmt::format("rate '{}' is not a positive number of ticks per second", text));
  }
  const double interval = std::round(1e9 / rate);
  if (interval > 1e18) return check_interval(nanoseconds::max(), "rate", text);
  return check_interval(nanoseconds(static_cast<std::int64_t>(interval)), "rate", text);
}

namespace {

std::optional<std::uint32_t> parse_permille(std::string_view text, double most) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const bool parsed = parse_whole(text, percent) && std::isfinite(percent);
  const double permille = std::round(percent * 10);
  if (!parsed || permille < 1 || permille > most) return std::nullopt;
  return static_cast<std::uint32_t>(permille);
}

}  // namespace

Result<std::uint32_t> parse_overhead(std::string_view text) {
  if (const auto permille = parse_permille(text, 10'000)) return *permille;
  return Error(
      fmt::format("--max-overhead: '{}' is not a share of one CPU from 0.1% to 1000%", text));
}

Result<std::uint32_t> parse_host_overhead(std::string_view text) {
  if (const auto permille = parse_permille(text, 1'000)) return *permille;
  return Error(
      fmt::format("--max-host-overhead: '{}' is not a share of all CPUs from 0.1% to 100%", text));
}

}  // namespace swipr::options
