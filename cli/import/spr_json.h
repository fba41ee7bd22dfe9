// The JSON objects in the lines of Swift Profile Recorder's text. Wrong types read as absent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace swipr::importers {

class SprObject {
 public:
  // nullopt: not a JSON object. A comma before the closing brace, which the recorder writes, is
  // fine.
  static std::optional<SprObject> parse(std::string_view text);

  bool has(const char* key) const;
  // Numbers, or "0x…" in a string.
  std::optional<std::uint64_t> find_unsigned(const char* key) const;
  std::optional<std::string> find_text(const char* key) const;

 private:
  explicit SprObject(nlohmann::json object) : object_(std::move(object)) {}

  nlohmann::json object_;
};

}  // namespace swipr::importers
