#include "cli/trace/function_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "symbolize/text/demangle.h"

namespace swipr::tracing {

namespace {

using host::Error;
using host::Result;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <typename Number>
bool parse_number(std::string_view text, int base, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "file.cc:12": what is behind the last colon is a number, and no second colon is before it.
bool is_line(std::string_view text, std::size_t colon) {
  if (colon == std::string_view::npos || colon == 0 || text[colon - 1] == ':') return false;
  const std::string_view digits = text.substr(colon + 1);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                        [](char digit) { return digit >= '0' && digit <= '9'; });
}

// "buy(int) const" → "buy"; the name itself if it has no parameters.
std::string_view without_parameters(std::string_view name) {
  const std::size_t end = name.rfind(')');
  if (end == std::string_view::npos) return name;
  int depth = 0;
  for (std::size_t at = end + 1; at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

bool is_whole(std::string_view name, std::string_view linkage_name, std::string_view readable) {
  if (name == linkage_name) return true;
  if (readable.empty()) return false;
  if (name == readable || name == without_parameters(readable)) return true;
  return name == symbolize::shorten(std::string(readable));
}

bool fits_pattern(std::string_view pattern, std::string_view linkage, std::string_view readable) {
  if (matches_pattern(pattern, linkage)) return true;
  if (readable.empty()) return false;
  return matches_pattern(pattern, readable) ||
         matches_pattern(pattern, without_parameters(readable)) ||
         matches_pattern(pattern, symbolize::shorten(std::string(readable)));
}

}  // namespace

Result<FunctionQuery> parse_function_query(std::string_view text) {
  FunctionQuery query;
  query.text = text;
  if (const std::size_t mark = text.find('!');
      mark != std::string_view::npos && mark != 0 && text.substr(0, mark).find(' ') == text.npos) {
    query.module = text.substr(0, mark);
    text.remove_prefix(mark + 1);
  }
  if (text.empty()) return Error(fmt::format("'{}' names no function", query.text));
  const std::size_t colon = text.rfind(':');
  if (text.starts_with("0x")) {
    query.kind = FunctionQuery::Kind::kAddress;
    if (!parse_number(text.substr(2), 16, query.address)) {
      return Error(fmt::format("'{}' is not an address", text));
    }
  } else if (is_line(text, colon)) {
    query.kind = FunctionQuery::Kind::kLine;
    query.name = text.substr(0, colon);
    if (!parse_number(text.substr(colon + 1), 10, query.line) || query.line == 0) {
      return Error(fmt::format("'{}' is not a line", text));
    }
  } else {
    query.name = text;
  }
  return query;
}

bool is_pattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, seen = 0;
  std::size_t star = std::string_view::npos, after_star = 0;
  while (seen < text.size()) {
    std::size_t next = at + 1;
    bool fits = false;
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = seen;
      continue;
    }
    const std::size_t close = at < pattern.size() && pattern[at] == '[' ? pattern.find(']', at + 2)
                                                                        : std::string_view::npos;
    if (close != std::string_view::npos) {
      const std::string_view set = pattern.substr(at + 1, close - at - 1);
      for (std::size_t place = 0; place < set.size(); ++place) {
        const bool is_range = place + 2 < set.size() && set[place + 1] == '-';
        fits = fits || (is_range ? text[seen] >= set[place] && text[seen] <= set[place + 2]
                                 : text[seen] == set[place]);
        if (is_range) place += 2;
      }
      next = close + 1;
    } else {
      fits = at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[seen]);
    }
    if (fits) {
      at = next;
      ++seen;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      seen = ++after_star;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool matches_module(const FunctionQuery& query, std::string_view path) {
  if (query.module.empty() || query.module == path) return true;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::string_view stem = file.substr(0, file.find(".so"));
  return matches_pattern(query.module, file) || matches_pattern(query.module, stem);
}

std::string_view without_suffix(std::string_view linkage_name) {
  constexpr auto kSuffixes = std::to_array<std::string_view>(
      {".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm."});
  std::size_t end = linkage_name.size();
  for (const std::string_view suffix : kSuffixes) {
    end = std::min(end, linkage_name.find(suffix, 1));
  }
  return linkage_name.substr(0, end);
}

Fit fit_name(const FunctionQuery& query, std::string_view linkage_name, std::string_view readable) {
  if (query.name == linkage_name) return Fit::kWhole;
  const std::string_view stem = without_suffix(linkage_name);
  const std::string_view suffix = linkage_name.substr(stem.size());
  if (suffix.find(".cold") != suffix.npos || suffix.find(".part.") != suffix.npos) {
    return Fit::kNone;
  }
  const Fit whole = suffix.empty() ? Fit::kWhole : Fit::kCopy;
  if (is_whole(query.name, stem, readable)) return whole;
  if (is_pattern(query.name)) {
    return fits_pattern(query.name, stem, readable) ? whole : Fit::kNone;
  }
  const std::string ending = "::" + query.name;
  const bool is_last =
      readable.ends_with(ending) || without_parameters(readable).ends_with(ending) ||
      (!readable.empty() && symbolize::shorten(std::string(readable)).ends_with(ending));
  return is_last ? Fit::kLastPart : Fit::kNone;
}

std::string_view longest_word(const FunctionQuery& query) {
  std::string_view name = query.name;
  // Mangled names abbreviate these, and operators.
  if (name.starts_with("std::") || name.find("operator") != name.npos) return {};
  if (!is_pattern(name)) name = without_parameters(name);
  if (name.find('<') != name.npos || name.find('[') != name.npos) return {};
  std::string_view longest;
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin;
    while (end < name.size() && is_word(name[end])) ++end;
    if (end - begin > longest.size()) longest = name.substr(begin, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace swipr::tracing
