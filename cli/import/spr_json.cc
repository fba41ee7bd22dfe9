#include "cli/import/spr_json.h"

#include <charconv>
#include <utility>

namespace swipr::importers {

std::optional<SprObject> SprObject::parse(std::string_view text) {
  std::string copy(text);
  const std::size_t brace = copy.find_last_not_of(" \t\r");
  if (brace != std::string::npos && brace > 0 && copy[brace] == '}') {
    const std::size_t comma = copy.find_last_not_of(" \t", brace - 1);
    if (comma != std::string::npos && copy[comma] == ',') copy[comma] = ' ';
  }
  nlohmann::json object = nlohmann::json::parse(copy, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  return SprObject(std::move(object));
}

bool SprObject::has(const char* key) const { return object_.contains(key); }

std::optional<std::uint64_t> SprObject::find_unsigned(const char* key) const {
  const auto place = object_.find(key);
  if (place == object_.end()) return std::nullopt;
  if (place->is_number_unsigned()) return place->get<std::uint64_t>();
  if (!place->is_string()) return std::nullopt;
  const auto& text = place->get_ref<const std::string&>();
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<std::string> SprObject::find_text(const char* key) const {
  const auto place = object_.find(key);
  if (place == object_.end() || !place->is_string()) return std::nullopt;
  return place->get<std::string>();
}

}  // namespace swipr::importers
