// JSON objects in Swift Profile Recorder text. Values of the wrong type are treated as absent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace swipr::importers {

class SprObject {
 public:
  // Returns nullopt if the text is not a JSON object. A comma before the closing brace is
  // accepted, because the recorder writes one.
  static std::optional<SprObject> parse(std::string_view text);

  bool has(const char* key) const;
  // Accepts numbers and strings of the form "0x…".
  std::optional<std::uint64_t> find_unsigned(const char* key) const;
  std::optional<std::string> find_text(const char* key) const;

 private:
  explicit SprObject(nlohmann::json object) : object_(std::move(object)) {}

  nlohmann::json object_;
};

}  // namespace swipr::importers
