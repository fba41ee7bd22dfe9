#include "cli/push/requests/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace swipr::push {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLabels = 30;
constexpr std::size_t kMostValueBytes = 2048;
constexpr std::size_t kMostNameBytes = 1024;

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

std::string label_name(std::string_view text) {
  std::string name;
  for (const char byte : text.substr(0, kMostNameBytes)) {
    const bool allowed = is_letter(byte) || (byte >= '0' && byte <= '9');
    name += allowed ? byte : '_';
  }
  if (!name.empty() && !is_letter(name.front())) name.insert(name.begin(), '_');
  return name;
}

// At the end of a UTF-8 sequence.
std::string label_value(std::string_view text) {
  if (text.size() <= kMostValueBytes) return std::string(text);
  std::size_t size = kMostValueBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size));
}

// Bytes that are not UTF-8 become U+FFFD.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json pairs_of(const Labels& labels) {
  Json pairs = Json::array();
  for (const auto& [name, value] : labels) pairs.push_back({{"name", name}, {"value", value}});
  return pairs;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    const bool plain =
        is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-' || byte == '.';
    out += plain ? std::string(1, byte)
                 : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  return out;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t index = 0; index < bytes.size(); index += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - index);
    std::uint32_t group = 0;
    for (std::size_t at = 0; at < 3; ++at) {
      const auto byte = at < count ? static_cast<unsigned char>(bytes[index + at]) : 0u;
      group = group << 8 | byte;
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out += digit <= count ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return out;
}

Labels headers_of(const StoreUrl& url, const Credentials& credentials) {
  Labels headers;
  const std::string& secret = credentials.token.empty() ? url.password : credentials.token;
  if (url.engine == Engine::kStudio) {
    headers.emplace_back("GPROFILER-API-KEY", secret);
  } else if (!url.user.empty()) {
    headers.emplace_back("Authorization",
                         "Basic " + base64(fmt::format("{}:{}", url.user, secret)));
  } else if (!secret.empty()) {
    headers.emplace_back("Authorization", "Bearer " + secret);
  }
  if (!credentials.tenant.empty()) headers.emplace_back("X-Scope-OrgID", credentials.tenant);
  return headers;
}

Labels store_labels(std::string_view metric, std::string_view service, const Labels& more) {
  Labels labels = {{"__name__", std::string(metric)}, {"service_name", label_value(service)}};
  for (const auto& [name, value] : more) {
    const std::string clean = label_name(name);
    if (clean.empty() || clean.starts_with("__") || value.empty()) continue;
    const auto known = std::find_if(labels.begin(), labels.end(),
                                    [&clean](const auto& label) { return label.first == clean; });
    if (known != labels.end()) {
      known->second = label_value(value);
    } else if (labels.size() < kMostLabels) {
      labels.emplace_back(clean, label_value(value));
    }
  }
  return labels;
}

Request pyroscope_request(const StoreUrl& url, const Labels& labels, std::string_view profile,
                          std::string_view id) {
  Json sample = {{"ID", id}, {"rawProfile", base64(profile)}};
  Json series = {{"labels", pairs_of(labels)}, {"samples", Json::array({std::move(sample)})}};
  const Json body = {{"series", Json::array({std::move(series)})}};
  return {url.path + "/push.v1.PusherService/Push",
          {{"Content-Type", "application/json"}},
          dumped(body)};
}

Request parca_request(const StoreUrl& url, const Labels& labels, std::string_view profile) {
  Json sample = {{"rawProfile", base64(profile)}};
  Json series = {{"labels", {{"labels", pairs_of(labels)}}},
                 {"samples", Json::array({std::move(sample)})}};
  const Json body = {{"series", Json::array({std::move(series)})}, {"normalized", false}};
  return {
      url.path + "/api/profiles/writeraw", {{"Content-Type", "application/json"}}, dumped(body)};
}

Request studio_request(const StoreUrl& url, const StudioProfile& profile) {
  const Json body = {{"start_time", profile.start_time},
                     {"end_time", profile.end_time},
                     {"hostname", profile.hostname},
                     {"profile", profile.col},
                     {"cpu_avg", nullptr},
                     {"mem_avg", nullptr},
                     {"spawn_time", profile.start_time},
                     {"gpid", profile.gpid}};
  const std::string query =
      fmt::format("?key=&service={}&hostname={}&timestamp={}&version=" SWIPR_VERSION,
                  encoded(profile.service), encoded(profile.hostname), encoded(profile.end_time));
  return {url.path + "/api/v2/profiles" + query,
          {{"Content-Type", "application/json"}, {"GPROFILER-SERVICE-NAME", profile.service}},
          dumped(body)};
}

Outcome outcome_of(const Answer& answer) {
  if (answer.status >= 200 && answer.status < 300) {
    return answer.is_partial ? Outcome::kRefused : Outcome::kStored;
  }
  if (answer.status == 429 || answer.status == 503) return Outcome::kLater;
  if (answer.status != 0) return Outcome::kRefused;
  return answer.was_sent ? Outcome::kUnknown : Outcome::kLater;
}

std::chrono::milliseconds delay_before(unsigned repetition, std::chrono::seconds retry_after,
                                       double random) {
  constexpr std::chrono::milliseconds kShortest(100);
  constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(1);
  if (retry_after.count() >= 0) {
    return std::clamp<std::chrono::milliseconds>(retry_after, kShortest, kLongest);
  }
  const unsigned doublings = std::min(repetition, 6u);
  const auto delay =
      std::min<std::chrono::milliseconds>(std::chrono::seconds(1u << doublings), kLongest);
  const double factor = 0.8 + 0.4 * std::clamp(random, 0.0, 1.0);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(delay.count()) * factor));
}

}  // namespace swipr::push
