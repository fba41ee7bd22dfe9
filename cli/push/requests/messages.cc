#include "cli/push/requests/messages.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace swipr::push {

namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Missing fields and fields of another type have the default.
template <typename Value>
Value field(const Json& object, const char* name, Value fallback) {
  const auto place = object.find(name);
  if (place == object.end()) return fallback;
  try {
    return place->template get<Value>();
  } catch (const Json::exception&) {
    return fallback;
  }
}

// Numbers that are not whole, or that Number cannot hold, have the default, too.
template <typename Number>
Number whole_number(const Json& object, const char* name, Number fallback) {
  const auto place = object.find(name);
  if (place == object.end() || !place->is_number_integer()) return fallback;
  const bool fits = place->is_number_unsigned()
                        ? std::in_range<Number>(place->template get<std::uint64_t>())
                        : std::in_range<Number>(place->template get<std::int64_t>());
  return fits ? place->template get<Number>() : fallback;
}

host::Result<Json> parse_object(std::string_view line) {
  Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return host::Error("not a message of swipr-send");
  return object;
}

}  // namespace

std::string format_place(const SendPlace& place) {
  return line_of({{"origin", place.origin},
                  {"proxy_host", place.proxy.host},
                  {"proxy_port", place.proxy.port},
                  {"proxy_user", place.proxy.user},
                  {"proxy_password", place.proxy.password},
                  {"ca_file", place.ca_file}});
}

host::Result<SendPlace> parse_place(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return object.error();
  SendPlace place;
  place.origin = field<std::string>(*object, "origin", "");
  place.proxy.host = field<std::string>(*object, "proxy_host", "");
  place.proxy.port = whole_number<std::uint16_t>(*object, "proxy_port", 0);
  place.proxy.user = field<std::string>(*object, "proxy_user", "");
  place.proxy.password = field<std::string>(*object, "proxy_password", "");
  place.ca_file = field<std::string>(*object, "ca_file", "");
  return place;
}

std::string format_request(const Request& request) {
  Json headers = Json::array();
  for (const auto& [name, value] : request.headers) headers.push_back({name, value});
  return line_of({{"path", request.path},
                  {"headers", std::move(headers)},
                  {"body_bytes", request.body.size()}});
}

host::Result<AnnouncedRequest> parse_request(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return object.error();
  AnnouncedRequest result;
  result.request.path = field<std::string>(*object, "path", "/");
  result.body_bytes = whole_number<std::size_t>(*object, "body_bytes", kMostBodyBytes + 1);
  if (result.body_bytes > kMostBodyBytes) {
    return host::Error("the request is too large, or its size is missing");
  }
  for (const auto& entry : field<std::vector<std::vector<std::string>>>(*object, "headers", {})) {
    if (entry.size() == 2) result.request.headers.emplace_back(entry[0], entry[1]);
  }
  return result;
}

std::string format_answer(const Answer& answer) {
  return line_of({{"status", answer.status},
                  {"was_sent", answer.was_sent},
                  {"is_partial", answer.is_partial},
                  {"is_lasting", answer.is_lasting},
                  {"retry_after_s", answer.retry_after.count()},
                  {"text", answer.text}});
}

host::Result<Answer> parse_answer(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return object.error();
  Answer answer;
  answer.status = whole_number<int>(*object, "status", 0);
  answer.was_sent = field<bool>(*object, "was_sent", false);
  answer.is_partial = field<bool>(*object, "is_partial", false);
  answer.is_lasting = field<bool>(*object, "is_lasting", false);
  answer.retry_after =
      std::chrono::seconds(whole_number<std::int64_t>(*object, "retry_after_s", -1));
  answer.text = field<std::string>(*object, "text", "");
  return answer;
}

}  // namespace swipr::push
