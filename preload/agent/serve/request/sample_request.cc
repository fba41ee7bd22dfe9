#include "preload/agent/serve/request/sample_request.h"

#include <charconv>

#include "common/core/duration_text.h"
#include "common/core/quantile_text.h"
#include "common/wire/slow_calls.h"
#include "common/wire/traced_calls.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/serve/request/http_request.h"
#include "preload/agent/serve/request/json_request.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;
using std::chrono::nanoseconds;

constexpr std::uint64_t kMaxTicks = 1'000'000'000;
constexpr std::uint64_t kDefaultSamples = 100;
constexpr std::chrono::milliseconds kMinLatencyInterval{10};

bool refuse(TextWriter& error, std::string_view field, std::string_view problem) noexcept {
  error.append(field).append(": ").append(problem);
  return false;
}

bool parse_whole(std::string_view text, std::uint64_t& out) noexcept {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, out);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
}

std::string_view trim_blanks(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "100 ms", "10us", "50" (milliseconds).
bool read_time(const JsonField& field, nanoseconds& out) noexcept {
  return field.kind == JsonField::Kind::kString &&
         parse_duration_text(field.text, out, std::chrono::milliseconds(1)) == DurationError::kNone;
}

bool read_ticks(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  std::uint64_t ticks = 0;
  if (field.kind != JsonField::Kind::kNumber || !parse_whole(field.text, ticks) || ticks == 0 ||
      ticks > kMaxTicks) {
    return refuse(error, field.name, "must be a whole number from 1 to 1000000000");
  }
  out.ticks = ticks;
  return true;
}

bool read_interval(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  nanoseconds interval{0};
  if (!read_time(field, interval)) {
    return refuse(error, field.name, "must be a string such as \"100 ms\" or \"10us\"");
  }
  if (interval < kMinInterval || interval > kMaxInterval) {
    return refuse(error, field.name, "must be between 100 us and 1 h");
  }
  out.interval = interval;
  return true;
}

bool read_duration(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (!read_time(field, out.duration) || out.duration == nanoseconds(0)) {
    return refuse(error, field.name, "must be a string such as \"10 s\", up to 100 years");
  }
  return true;
}

// "10%", "0.5 %": of one CPU. May exceed 100 %, which disables the limit in practice.
bool read_overhead(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  std::uint64_t percent = 0;
  std::uint64_t tenths = 0;
  std::string_view text = field.text;
  const bool whole = field.kind == JsonField::Kind::kString && text.ends_with('%');
  if (whole) text = trim_blanks(leading(text, text.size() - 1));
  const std::size_t point = text.find('.');
  const bool fits = point == text.npos ||
                    (text.size() == point + 2 && parse_whole(skip(text, point + 1), tenths));
  if (!whole || !fits || !parse_whole(leading(text, point), percent) || percent > 1000 ||
      percent * 10 + tenths == 0) {
    return refuse(error, field.name, "must be a string such as \"2%\", from \"0.1%\" to \"1000%\"");
  }
  out.max_overhead_permille = static_cast<std::uint32_t>(percent * 10 + tenths);
  return true;
}

bool read_mode(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (field.kind == JsonField::Kind::kString && wire::find_record_mode(field.text, out.mode)) {
    return true;
  }
  return refuse(error, field.name, "must be wall, cpu or offcpu");
}

bool read_bool(const JsonField& field, bool& out, TextWriter& error) noexcept {
  if (field.kind != JsonField::Kind::kBool) {
    return refuse(error, field.name, "must be true or false");
  }
  out = field.text == "true"sv;
  return true;
}

bool read_latency_interval(const JsonField& field, RecordingRequest& out,
                           TextWriter& error) noexcept {
  if (read_time(field, out.latency_interval) && out.latency_interval >= kMinLatencyInterval) {
    return true;
  }
  return refuse(error, field.name, "must be a string such as \"1 s\", from \"10 ms\"");
}

bool read_probes(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (field.kind != JsonField::Kind::kString) return refuse(error, field.name, "must be a string");
  std::string_view rest = field.text;
  wire::ProbeRequest probe;
  std::size_t count = 0;
  while (wire::take_probe(rest, probe)) ++count;
  if (!rest.empty() || count == 0) {
    return refuse(error, field.name,
                  "must have lines such as 0x1139 build-id 0d9f or 0x1139 path /app");
  }
  if (count > wire::kMostProbes) return refuse(error, field.name, "may have 32 lines at most");
  out.probes = field.text;
  return true;
}

bool read_slower(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (field.kind == JsonField::Kind::kString) {
    out.slower_quantile = parse_quantile(field.text).value_or(0);
    if (out.slower_quantile != 0 || read_time(field, out.slower)) return true;
  }
  return refuse(error, field.name, "must be a string such as \"5 ms\" or \"p95\"");
}

bool read_frames(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  std::uint64_t frames = 0;
  if (field.kind != JsonField::Kind::kNumber || !parse_whole(field.text, frames) ||
      frames > wire::kMostSlowFrames) {
    return refuse(error, field.name, "must be a whole number from 0 to 256");
  }
  out.slow_frames = static_cast<std::uint32_t>(frames);
  return true;
}

bool read_sites(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (field.kind != JsonField::Kind::kString) return refuse(error, field.name, "must be a string");
  std::string_view rest = field.text;
  wire::ProbeRequest site;
  std::size_t count = 0;
  while (wire::take_probe(rest, site)) ++count;
  if (!rest.empty() || count == 0 || count > wire::kMostSites) {
    return refuse(error, field.name, "must have 1 to 32 lines, as probes has them");
  }
  out.sites = field.text;
  return true;
}

bool read_string_places(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  std::size_t line = 0;
  std::uint64_t places = 0;
  while (line < wire::kMostProbes && wire::read_strings(field.text, line, places)) ++line;
  if (field.kind != JsonField::Kind::kString || field.text.size() != line * 8) {
    return refuse(error, field.name, "must have a line such as 0100000 for each function");
  }
  out.strings = field.text;
  return true;
}

bool read_arguments(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  bool wanted = !out.omits_arguments;
  const bool read = read_bool(field, wanted, error);
  out.omits_arguments = !wanted;
  return read;
}

bool read_format(const JsonField& field, AnswerFormat& out, TextWriter& error) noexcept {
  struct Name {
    std::string_view name;
    AnswerFormat format;
  };
  constexpr Name kNames[] = {{"perfSymbolized", AnswerFormat::kPerf},
                             {"perf", AnswerFormat::kPerf},
                             {"pprofSymbolized", AnswerFormat::kPprof},
                             {"pprof", AnswerFormat::kPprof},
                             {"flamegraphCollapsedSymbolized", AnswerFormat::kCollapsed},
                             {"collapsed", AnswerFormat::kCollapsed},
                             {"raw", AnswerFormat::kRaw},
                             {"swipr", AnswerFormat::kRaw}};
  for (const Name& known : kNames) {
    if (field.kind == JsonField::Kind::kString && field.text == known.name) {
      out = known.format;
      return true;
    }
  }
  return refuse(error, field.name, "must be perf, pprof, collapsed or raw");
}

// Calls read(field) for every field; read() ignores unknown ones. An empty body counts as {}.
template <typename Read>
bool read_fields(std::span<char> body, TextWriter& error, Read read) noexcept {
  if (body.empty()) return true;
  JsonObjectReader reader(body);
  JsonField field;
  while (reader.next(field)) {
    if (!read(field)) return false;
  }
  return !reader.failed() || refuse(error, "body", "is not a JSON object");
}

// Tasks wait, and a recording of CPU time has no waits.
bool fits_together(const RecordingRequest& request, TextWriter& error) noexcept {
  if (!request.tasks || request.mode != wire::RecordMode::kCpu) return true;
  return refuse(error, "tasks"sv, "cannot be combined with mode cpu: tasks use no CPU time");
}

bool read_query_number(std::string_view query, std::string_view name, std::uint64_t smallest,
                       std::uint64_t& value, TextWriter& error) noexcept {
  constexpr std::uint64_t kLargest = 1000;
  std::string_view text;
  if (!find_query_value(query, name, text)) return true;
  if (parse_whole(text, value) && value >= smallest && value <= kLargest) return true;
  error.append(name).append(": must be a whole number from ").append_number(smallest);
  error.append(" to ").append_number(kLargest);
  return false;
}

bool read_record_field(const JsonField& field, RecordingRequest& out, TextWriter& error) noexcept {
  if (field.name == "numberOfSamples"sv) return read_ticks(field, out, error);
  if (field.name == "timeInterval"sv) return read_interval(field, out, error);
  if (field.name == "maxOverhead"sv) return read_overhead(field, out, error);
  if (field.name == "mode"sv) return read_mode(field, out, error);
  if (field.name == "jitter"sv) return read_bool(field, out.jitter, error);
  if (field.name == "tasks"sv) return read_bool(field, out.tasks, error);
  if (field.name == "arguments"sv) return read_arguments(field, out, error);
  if (field.name == "duration"sv) return read_duration(field, out, error);
  return true;
}

}  // namespace

bool parse_sample_request(std::span<char> body, SampleRequest& out, TextWriter& error) noexcept {
  out = {};
  out.recording.ticks = kDefaultSamples;
  const bool read = read_fields(body, error, [&](const JsonField& field) {
    if (field.name == "numberOfSamples"sv) return read_ticks(field, out.recording, error);
    if (field.name == "timeInterval"sv) return read_interval(field, out.recording, error);
    if (field.name == "maxOverhead"sv) return read_overhead(field, out.recording, error);
    if (field.name == "mode"sv) return read_mode(field, out.recording, error);
    if (field.name == "jitter"sv) return read_bool(field, out.recording.jitter, error);
    if (field.name == "tasks"sv) return read_bool(field, out.recording.tasks, error);
    if (field.name == "arguments"sv) return read_arguments(field, out.recording, error);
    if (field.name == "format"sv) return read_format(field, out.format, error);
    return true;
  });
  return read && fits_together(out.recording, error);
}

bool parse_record_request(std::span<char> body, RecordingRequest& out, TextWriter& error) noexcept {
  out = {};
  const bool read = read_fields(body, error, [&](const JsonField& field) {
    if (field.name == "sampling"sv) return read_bool(field, out.sampling, error);
    if (field.name == "latencyInterval"sv) return read_latency_interval(field, out, error);
    if (field.name == "probes"sv) return read_probes(field, out, error);
    if (field.name == "slower"sv) return read_slower(field, out, error);
    if (field.name == "frames"sv) return read_frames(field, out, error);
    if (field.name == "sites"sv) return read_sites(field, out, error);
    if (field.name == "strings"sv) return read_string_places(field, out, error);
    if (field.name == "threads"sv) return read_bool(field, out.by_thread, error);
    return read_record_field(field, out, error);
  });
  return read && fits_together(out, error);
}

bool parse_file_request(std::span<char> body, RecordingRequest& out, TextWriter& path,
                        TextWriter& error) noexcept {
  out = {};
  path.clear();
  const bool read = read_fields(body, error, [&](const JsonField& field) {
    if (field.name != "path"sv) return read_record_field(field, out, error);
    if (field.kind == JsonField::Kind::kString && field.text.find('\0') == field.text.npos) {
      path.append(field.text);
    }
    return true;
  });
  if (!read || !fits_together(out, error)) return false;
  if (path.view().starts_with('/') && !path.overflowed()) return true;
  return refuse(error, "path"sv, "must be an absolute path");
}

bool parse_profile_query(std::string_view query, RecordingRequest& out,
                         TextWriter& error) noexcept {
  std::uint64_t seconds = 30;
  std::uint64_t rate = 100;
  if (!read_query_number(query, "seconds", 0, seconds, error)) return false;
  if (!read_query_number(query, "rate", 1, rate, error)) return false;
  out = {};
  std::string_view mode;
  if (find_query_value(query, "mode", mode) && !wire::find_record_mode(mode, out.mode)) {
    return refuse(error, "mode", "must be wall, cpu or offcpu");
  }
  std::string_view jitter;
  if (find_query_value(query, "jitter", jitter)) {
    if (jitter != "on"sv && jitter != "off"sv) return refuse(error, "jitter", "must be on or off");
    out.jitter = jitter == "on"sv;
  }
  out.interval = nanoseconds(1'000'000'000 / static_cast<std::int64_t>(rate));
  out.ticks = seconds * rate == 0 ? 1 : seconds * rate;
  return true;
}

}  // namespace swipr::agent
