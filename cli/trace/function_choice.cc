#include "cli/trace/function_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace swipr::tracing {

namespace {

using host::Error;
using host::Result;

constexpr std::size_t kMostNamed = 4;

// Of each address the first one.
std::vector<Candidate> of_fit(std::span<const Candidate> candidates, Fit fit) {
  std::vector<Candidate> result;
  std::set<std::pair<std::uint32_t, ImageAddr>> seen;
  for (const Candidate& candidate : candidates) {
    if (candidate.fit != fit || candidate.kind != Candidate::Kind::kDefined) continue;
    if (seen.emplace(candidate.module, candidate.begin).second) result.push_back(candidate);
  }
  return result;
}

// How each of them is named alone. Functions of one name in one file differ in their addresses
// only.
std::string listed(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    if (names.size() == kMostNamed) break;
    const auto is_same = [&](const Candidate& other) {
      return other.module == candidate.module && other.name == candidate.name;
    };
    const bool is_unique = std::count_if(candidates.begin(), candidates.end(), is_same) == 1;
    names.push_back(is_unique ? fmt::format("'{}!{}'", candidate.file, candidate.name)
                              : fmt::format("'{}!0x{:x}'", candidate.file, candidate.begin.value));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (candidates.size() > kMostNamed) {
    text += fmt::format(" and {} more", candidates.size() - kMostNamed);
  }
  return text;
}

const Candidate* find_kind(std::span<const Candidate> candidates, Candidate::Kind kind) {
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [kind](const Candidate& candidate) {
        return candidate.kind == kind && candidate.fit >= Fit::kCopy;
      });
  return found == candidates.end() ? nullptr : &*found;
}

Result<Choice> choose_pattern(const FunctionQuery& query, std::span<const Candidate> candidates,
                              std::size_t most) {
  Choice choice{of_fit(candidates, Fit::kWhole), ""};
  for (Candidate& copy : of_fit(candidates, Fit::kCopy))
    choice.functions.push_back(std::move(copy));
  if (choice.functions.empty()) return Error("");
  if (choice.functions.size() > most) {
    return Error(fmt::format("'{}' matches {} functions; at most {} can be traced at once: {}",
                             query.text, choice.functions.size(), most, listed(choice.functions)));
  }
  return choice;
}

}  // namespace

Result<Choice> choose_functions(const FunctionQuery& query, std::span<const Candidate> candidates,
                                std::size_t most) {
  using Kind = Candidate::Kind;
  if (const Candidate* indirect = find_kind(candidates, Kind::kIndirect);
      indirect != nullptr && !is_pattern(query.name)) {
    return Error(fmt::format(
        "'{}' of {} stands for one of several functions, chosen when the program starts (IFUNC): "
        "name that one, as a profile shows it",
        indirect->name, indirect->file));
  }
  Choice choice{of_fit(candidates, Fit::kWhole), ""};
  std::vector<Candidate> copies = of_fit(candidates, Fit::kCopy);
  if (choice.functions.size() == 1 && !copies.empty() && !is_pattern(query.name)) {
    choice.note =
        fmt::format("the compiler has made {} more of '{}', whose calls are not among these: {}",
                    copies.size() == 1 ? "a copy" : fmt::format("{} copies", copies.size()),
                    query.text, listed(copies));
  }
  if (is_pattern(query.name) && choice.functions.size() != 1) {
    return choose_pattern(query, candidates, most);
  }
  if (choice.functions.empty() && !copies.empty() && copies.size() <= most) {
    choice.functions = std::move(copies);
    return choice;
  }
  if (choice.functions.empty()) choice.functions = of_fit(candidates, Fit::kLastPart);
  if (choice.functions.size() > 1) {
    return Error(fmt::format("'{}' is {} functions; name one: {}", query.text,
                             choice.functions.size(), listed(choice.functions)));
  }
  if (!choice.functions.empty()) return choice;
  if (const Candidate* imported = find_kind(candidates, Kind::kImported)) {
    return Error(
        query.module.empty()
            ? fmt::format("'{}' is used by {}, but no file of the process has it", query.text,
                          imported->file)
            : fmt::format("{} only uses '{}'; it is in another file: name it without '{}!'",
                          imported->file, query.name, query.module));
  }
  return Error("");
}

}  // namespace swipr::tracing
