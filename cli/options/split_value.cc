#include "cli/options/split_value.h"

#include <fmt/format.h>

#include <optional>

#include "common/core/quantile_text.h"
#include "common/host/text/duration.h"

namespace swipr::options {

namespace {

std::optional<SplitPart> find_part(std::string_view text) {
  if (text == "slow") return SplitPart::kSlow;
  if (text == "normal") return SplitPart::kNormal;
  if (text == "difference") return SplitPart::kDifference;
  return std::nullopt;
}

// Takes the last of the parts that colons separate. "::" is in names of functions.
std::string_view take_last(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view last = colon == text.npos ? text : text.substr(colon + 1);
  text = colon == text.npos ? std::string_view{} : text.substr(0, colon);
  return last;
}

}  // namespace

host::Result<SplitOption> parse_split(std::string_view text) {
  SplitOption split;
  split.text = text;
  std::string_view rest = text;
  std::string_view last = take_last(rest);
  if (const auto part = find_part(last)) {
    split.part = *part;
    last = take_last(rest);
  }
  split.function = rest;
  if (const auto quantile = parse_quantile(last)) {
    split.quantile = *quantile;
    return split;
  }
  const auto time = host::parse_duration(last);
  if (time && time->count() > 0) {
    split.threshold = *time;
    return split;
  }
  return host::Error(fmt::format(
      "'{}' is not [FUNCTION:]THRESHOLD[:slow|normal|difference], such as handle:p95 or "
      "5ms:normal",
      text));
}

}  // namespace swipr::options
