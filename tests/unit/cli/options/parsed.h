// Command lines as tests write them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/options/parse.h"

namespace swipr::options {

inline ParseResult parse(std::vector<const char*> arguments) {
  return parse_command_line(arguments);
}

template <typename Options>
Options parsed(std::vector<const char*> arguments) {
  auto result = parse(std::move(arguments));
  if (auto* error = std::get_if<UsageError>(&result)) ADD_FAILURE() << error->message;
  auto* command = std::get_if<Command>(&result);
  auto* options = command == nullptr ? nullptr : std::get_if<Options>(command);
  if (options != nullptr) return *options;
  ADD_FAILURE() << "another command, or none";
  return {};
}

inline std::string error_of(std::vector<const char*> arguments) {
  auto result = parse(std::move(arguments));
  auto* error = std::get_if<UsageError>(&result);
  return error == nullptr ? "no error" : error->message;
}

}  // namespace swipr::options
