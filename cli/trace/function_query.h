// How a person names a function: by name, pattern, line or address. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::tracing {

struct FunctionQuery {
  enum class Kind : std::uint8_t { kName, kLine, kAddress };

  Kind kind = Kind::kName;
  std::string text;           // as typed
  std::string module;         // pattern for the name of its file; empty: any
  std::string name;           // a name or pattern; of a line: the end of the file's path
  std::uint32_t line = 0;     // of kLine
  std::uint64_t address = 0;  // of kAddress: in the image with a module, else in the process
};

// NAME, 'PATTERN*', FILE:LINE, 0xADDRESS, each also as MODULE!….
// Errors: a part is empty; a number is too large.
host::Result<FunctionQuery> parse_function_query(std::string_view text);

// `*`, `?` and `[a-z]`; all other characters are themselves.
bool is_pattern(std::string_view text);
bool matches_pattern(std::string_view pattern, std::string_view text);

// True for any module if the query names none: "libc" and "libc.so.6" name /lib/libc.so.6.
bool matches_module(const FunctionQuery& query, std::string_view path);

// How well a function's name fits a query by name. Copies and parts are those that a compiler made
// (".constprop.0"); what it moved out of a function (".cold", ".part.0") never fits.
enum class Fit : std::uint8_t { kNone, kLastPart, kCopy, kWhole };
// `readable` is demangled, with or without parameters; "" if it is not mangled.
Fit fit_name(const FunctionQuery& query, std::string_view linkage_name, std::string_view readable);

// The linkage name without what a compiler appends to copies and parts.
std::string_view without_suffix(std::string_view linkage_name);

// Words that a mangled name contains if it fits: the longest one; empty: unknown.
std::string_view longest_word(const FunctionQuery& query);

}  // namespace swipr::tracing
