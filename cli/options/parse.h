// Command line → Command. The only code that uses the argument parser; its exceptions end here.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "cli/options/options.h"

namespace swipr::options {

// --help, --version: to be printed, and the program is done.
struct Text {
  std::string text;
};

// One line, without the program's name.
struct UsageError {
  std::string message;
};

using ParseResult = std::variant<Command, Text, UsageError>;

// `arguments` without the program's own name.
ParseResult parse_command_line(std::span<const char* const> arguments);

}  // namespace swipr::options
