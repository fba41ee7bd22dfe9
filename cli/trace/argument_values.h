// Values of the arguments and the result of a slow call, by the types of its function. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/wire/slow_calls.h"
#include "symbolize/base/signature.h"

namespace swipr::tracing {

// The bits of a value, from its lowest on. nullopt: they are in no register that was kept.
struct ValueBits {
  std::uint64_t low = 0, high = 0;
};

// What a call knows of the values of a function, either its arguments or its result.
class CallValues {
 public:
  static CallValues arguments_of(const wire::SlowCallRecord& call);
  static CallValues result_of(const wire::SlowCallRecord& call);

  std::optional<ValueBits> bits_of(const symbolize::Value& value) const;
  // Of a number of up to 64 bits, extended by its sign if it has one.
  std::uint64_t extended(const symbolize::Value& value, ValueBits bits) const;
  // The string that a value stands for. Null: none, or it could not be read.
  const wire::SlowString* string_of(const symbolize::Value& value) const;

 private:
  CallValues(const wire::SlowCallRecord& call, std::span<const std::uint64_t> registers,
             std::size_t first)
      : call_(&call), registers_(registers), first_(first) {}

  const wire::SlowCallRecord* call_;
  std::span<const std::uint64_t> registers_;
  std::size_t first_;  // number of the first of them
};

// A record that has no members.
bool is_empty(const symbolize::Value& record);
bool has_sign(const symbolize::Value& value);
// Null: the value has no name.
const std::string* enumerator_of(const symbolize::Value& value, ValueBits bits);
// More of the string was there than has been read.
bool is_cut(const wire::SlowString& string);

// `fd=7, key="session:12"`, of the first `count` parameters.
std::string format_parameters(const symbolize::Signature& signature,
                              const wire::SlowCallRecord& call, std::size_t count);
// Empty: the function returns nothing.
std::string format_result(const symbolize::Signature& signature, const wire::SlowCallRecord& call);

// What a library is asked for: the strings among the first `count` parameters, and the result, as a
// line of "strings" (common/wire/slow_calls.h).
std::string format_string_places(const symbolize::Signature& signature, std::size_t count);

}  // namespace swipr::tracing
