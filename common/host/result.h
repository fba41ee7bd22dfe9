// Result<T>: a value or an Error, with the member names of std::expected (which GCC 12 lacks).
// Layers that add meaning add context: `return std::move(result).error().with_context("…")`.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace swipr::host {

// A message of one line: what was tried, what happened, what to do.
class Error {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}

  const std::string& message() const { return message_; }
  // "context: message"
  Error with_context(std::string_view context) const {
    return Error(std::string(context) + ": " + message_);
  }

 private:
  std::string message_;
};

// "what: strerror(errno_value)"
Error system_error(std::string_view what, int errno_value);

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, as in std::expected: `return value;` and `return Error("…");`
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() : error_(std::string()), ok_(true) {}
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_;
};

}  // namespace swipr::host
