#include "cli/options/agent_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/core/ascii_text.h"
#include "common/host/proc.h"

namespace swipr::options {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 10;

void add_setting(std::string_view name, std::string_view value, Arguments& arguments) {
  if (value == "false") return;
  arguments.push_back(value == "true" ? fmt::format("--{}", name)
                                      : fmt::format("--{}={}", name, value));
}

std::string_view name_of(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

// Of the last --config; empty: none.
std::string config_file(const Arguments& arguments) {
  constexpr std::string_view kConfig = "--config";
  std::string file;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    if (name_of(arguments[index]) != kConfig) continue;
    const bool has_value = arguments[index].size() > kConfig.size();
    if (has_value) file = arguments[index].substr(kConfig.size() + 1);
    if (!has_value && index + 1 < arguments.size()) file = arguments[index + 1];
  }
  return file;
}

}  // namespace

host::Result<Arguments> parse_settings(std::string_view text) {
  Arguments arguments;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() || name.starts_with('-')) {
      return host::Error(fmt::format("line {} is not NAME = VALUE", number));
    }
    std::string_view value = trimmed(line.substr(equals + 1));
    const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    if (is_quoted) value = value.substr(1, value.size() - 2);
    add_setting(name, value, arguments);
  }
  return arguments;
}

Arguments settings_of(const char* const* environment) {
  constexpr std::string_view kPrefix = "SWIPR_AGENT_";
  Arguments arguments;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    std::string name(entry.substr(kPrefix.size(), equals - kPrefix.size()));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c == '_' ? '-' : to_lower(c); });
    if (equals + 1 < entry.size()) add_setting(name, entry.substr(equals + 1), arguments);
  }
  return arguments;
}

Arguments overridden_by(const Arguments& lower, const Arguments& higher) {
  std::set<std::string_view> names;
  for (const std::string& argument : higher) names.insert(name_of(argument));
  Arguments merged;
  std::copy_if(
      lower.begin(), lower.end(), std::back_inserter(merged),
      [&names](const std::string& argument) { return !names.contains(name_of(argument)); });
  merged.insert(merged.end(), higher.begin(), higher.end());
  return merged;
}

host::Result<Arguments> with_settings(const Arguments& arguments, const char* const* environment) {
  const Arguments above = overridden_by(settings_of(environment), arguments);
  const std::string file = config_file(above);
  if (file.empty()) return above;
  const auto text = host::read_file(file, kMaxFileBytes);
  if (!text) return text.error();
  auto settings = parse_settings(*text);
  if (!settings) return settings.error().with_context(file);
  return overridden_by(*settings, above);
}

}  // namespace swipr::options
