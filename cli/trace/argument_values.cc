#include "cli/trace/argument_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/host/text/clean_text.h"

namespace swipr::tracing {

namespace {

using symbolize::StringPlace;
using symbolize::Value;
using symbolize::ValueKind;
using wire::StringAt;

static_assert(static_cast<int>(StringPlace::kAddress) == static_cast<int>(StringAt::kAddress));
static_assert(static_cast<int>(StringPlace::kSizeAddressPlace) ==
              static_cast<int>(StringAt::kSizeAddressPlace));

// Sizes above it are those of memory that was freed.
constexpr std::uint64_t kMostPlausibleBytes = std::uint64_t{1} << 47;

std::string text_of(const Value& value, const CallValues& values);

std::string number_text(const Value& value, std::uint64_t number) {
  return has_sign(value) ? std::to_string(static_cast<std::int64_t>(number))
                         : std::to_string(number);
}

std::string character_text(std::uint64_t number) {
  const char character = static_cast<char>(number);
  if (character == '\'') return "'\\''";
  if (character == '\0') return "'\\0'";
  if (character == '"') return "'\"'";
  return "'" + host::escape_text({&character, 1}, host::Literal::kC) + "'";
}

std::string members_text(const Value& value, const CallValues& values) {
  std::string text;
  for (const Value& member : value.members) {
    text += text.empty() ? "" : ", ";
    if (!member.name.empty()) text += member.name + "=";
    text += text_of(member, values);
  }
  return "{" + (value.members.empty() && !is_empty(value) ? "…" : text) + "}";
}

std::string text_of(const Value& value, const CallValues& values) {
  if (const wire::SlowString* string = values.string_of(value)) {
    const bool cut = is_cut(*string);
    const std::string_view text = cut ? host::whole_characters(string->text()) : string->text();
    return "\"" + host::escape_text(text, host::Literal::kC) + "\"" + (cut ? "…" : "");
  }
  if (value.kind == ValueKind::kRecord) return members_text(value, values);
  const auto bits = values.bits_of(value);
  if (!bits || value.kind == ValueKind::kUnknown) return "?";
  if (bits->high != 0) return fmt::format("0x{:x}{:016x}", bits->high, bits->low);
  const std::uint64_t number = values.extended(value, *bits);
  switch (value.kind) {
    case ValueKind::kPointer:
      return number == 0 ? "NULL" : fmt::format("0x{:x}", number);
    case ValueKind::kBoolean:
      return number > 1 ? std::to_string(number) : number == 1 ? "true" : "false";
    case ValueKind::kCharacter:
      return character_text(number);
    case ValueKind::kEnumeration:
      if (const std::string* name = enumerator_of(value, *bits)) return *name;
      return number_text(value, number);
    default:
      return number_text(value, number);
  }
}

}  // namespace

CallValues CallValues::arguments_of(const wire::SlowCallRecord& call) {
  const bool is_kept = (call.flags & wire::kSlowHasArguments) != 0;
  return {call, std::span(call.arguments).first(is_kept ? call.arguments.size() : 0), 0};
}

CallValues CallValues::result_of(const wire::SlowCallRecord& call) {
  return {call, {&call.result, 1}, wire::kResultValue};
}

std::optional<ValueBits> CallValues::bits_of(const Value& value) const {
  std::array<std::uint64_t, 2> words{};
  if (value.bits == 0) return std::nullopt;
  const std::size_t first = value.bit_offset / 64;
  const std::size_t last = (value.bit_offset + value.bits - 1u) / 64;
  for (std::size_t word = first; word <= last; ++word) {
    const std::int8_t number = word < words.size() ? value.registers[word] : Value::kNoRegister;
    if (number < 0 || static_cast<std::size_t>(number) >= registers_.size()) return std::nullopt;
    words[word] = registers_[static_cast<std::size_t>(number)];
  }
  if (first != last) return ValueBits{words[0], words[1]};
  const std::uint64_t mask =
      value.bits >= 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << value.bits);
  return ValueBits{(words[first] >> value.bit_offset % 64) & mask, 0};
}

std::uint64_t CallValues::extended(const Value& value, ValueBits bits) const {
  if (!has_sign(value) || value.bits >= 64 || value.bits == 0) return bits.low;
  const std::uint64_t sign = std::uint64_t{1} << (value.bits - 1);
  return (bits.low ^ sign) - sign;
}

const wire::SlowString* CallValues::string_of(const Value& value) const {
  if (value.string == StringPlace::kNone || value.registers[0] < 0) return nullptr;
  const std::size_t number = first_ + static_cast<std::size_t>(value.registers[0]);
  for (const wire::SlowString& string : std::span(call_->strings).first(call_->string_count)) {
    if (string.value == number && string.size < kMostPlausibleBytes) return &string;
  }
  return nullptr;
}

// Others without members are in memory.
bool is_empty(const Value& record) { return record.members.empty() && record.bits <= 8; }

bool has_sign(const Value& value) {
  return value.kind == ValueKind::kSigned ||
         (value.kind == ValueKind::kEnumeration && value.is_signed);
}

const std::string* enumerator_of(const Value& value, ValueBits bits) {
  const auto found = std::find_if(value.enumerators.begin(), value.enumerators.end(),
                                  [&](const auto& each) { return each.first == bits.low; });
  return found == value.enumerators.end() ? nullptr : &found->second;
}

bool is_cut(const wire::SlowString& string) { return string.size > string.count; }

std::string format_parameters(const symbolize::Signature& signature,
                              const wire::SlowCallRecord& call, std::size_t count) {
  const CallValues values = CallValues::arguments_of(call);
  std::string text;
  const auto add = [&text](const std::string& next) { text += (text.empty() ? "" : ", ") + next; };
  for (const Value& value : std::span(signature.parameters)) {
    if (count-- == 0) {
      add("…");
      return text;
    }
    add((value.name.empty() ? "" : value.name + "=") + text_of(value, values));
  }
  if (signature.is_variadic) add("...");
  return text;
}

std::string format_result(const symbolize::Signature& signature, const wire::SlowCallRecord& call) {
  if (signature.result.kind == ValueKind::kVoid) return {};
  return text_of(signature.result, CallValues::result_of(call));
}

std::string format_string_places(const symbolize::Signature& signature, std::size_t count) {
  std::string line(wire::kMostArguments + 1, '0');
  std::size_t most = wire::kMostStrings;
  const auto add = [&](const Value& value, std::size_t first) {
    if (value.string == StringPlace::kNone || value.registers[0] < 0 || most == 0) return;
    --most;
    line[first + static_cast<std::size_t>(value.registers[0])] =
        static_cast<char>('0' + static_cast<int>(value.string));
  };
  if (count == 0) return line;
  for (const Value& value :
       std::span(signature.parameters).first(std::min(count, signature.parameters.size()))) {
    add(value, 0);
  }
  add(signature.result, wire::kResultValue);
  return line;
}

}  // namespace swipr::tracing
