// What a program tells of a call that it makes, as JSON in one line:
//   {"function":NAME,"values":[…],"result":…}
// A value is a number, a bool, text for an address ("0x…") or a number beyond 2^53, an object for a
// record, ["string", cut] for a string, null for what is in no integer register, "any".
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace told {

struct Json {
  std::string text;
};
inline const Json kUnknown{"null"};

inline Json address(const volatile void* pointer) {
  char text[32];
  std::snprintf(text, sizeof(text), "\"0x%" PRIxPTR "\"",
                reinterpret_cast<std::uintptr_t>(pointer));
  return {text};
}

inline Json string(std::string_view text, bool cut = false) {
  return {"[\"" + std::string(text) + "\"," + (cut ? "true" : "false") + "]"};
}

inline Json raw(std::string text) { return {std::move(text)}; }

inline Json number(bool value) { return {value ? "true" : "false"}; }
template <typename Number>
Json number(Number value) {
  return {std::to_string(value)};
}

template <typename... Values>
void tell(const char* function, Json result, const Values&... values) {
  std::string list;
  ((list += (list.empty() ? "" : ",") + values.text), ...);
  std::printf("{\"function\":\"%s\",\"values\":[%s],\"result\":%s}\n", function, list.c_str(),
              result.text.c_str());
}

}  // namespace told
