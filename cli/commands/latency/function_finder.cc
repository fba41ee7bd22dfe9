#include "cli/commands/latency/function_finder.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cli/commands/names/symbolizer_options.h"
#include "cli/options/suggestion.h"
#include "cli/trace/function_choice.h"
#include "cli/trace/function_query.h"
#include "common/wire/traced_calls.h"
#include "symbolize/symbolizer.h"
#include "symbolize/text/demangle.h"

namespace swipr::commands {

namespace {

using host::Error;
using host::Result;
using symbolize::Symbolizer;
using tracing::Candidate;
using tracing::Choice;
using tracing::Fit;
using tracing::FunctionQuery;

constexpr std::string_view kOwnLibrary = "/libswipr_preload.so";
constexpr std::size_t kMaxSuggestionSymbols = 50'000;

symbolize::Options finder_options(const std::vector<std::string>& debug_directories) {
  options::SymbolOptions chosen;
  chosen.debug_directories = debug_directories;
  return symbolizer_options(chosen);
}

std::string_view file_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(0, path.find(" (deleted)"));
}

class FunctionFinder {
 public:
  FunctionFinder(const profile::Recording& process,
                 const std::vector<std::string>& debug_directories)
      : process_(process), symbolizer_(finder_options(debug_directories)) {
    // A file may be mapped in parts, of which not all have its build-id.
    std::map<std::string_view, std::uint32_t> by_path;
    for (std::uint32_t index = 0; index < process.modules.size(); ++index) {
      const std::string_view path = process.modules[index].path;
      // Neither the vDSO nor swipr's own code.
      if (!path.starts_with('/') || path.ends_with(kOwnLibrary)) continue;
      const auto [entry, is_new] = by_path.try_emplace(path, index);
      if (!is_new && process.modules[entry->second].build_id.empty()) entry->second = index;
    }
    for (const auto& [path, index] : by_path) modules_.push_back(index);
    std::sort(modules_.begin(), modules_.end());
  }

  Result<Choice> find(const FunctionQuery& query) {
    const bool has_module = std::any_of(modules_.begin(), modules_.end(),
                                        [&](std::uint32_t module) { return fits(query, module); });
    if (!has_module) {
      return Error(fmt::format("the process has no file '{}'; it has {}", query.module,
                               fmt::join(files(), ", ")));
    }
    switch (query.kind) {
      case FunctionQuery::Kind::kAddress:
        return find_address(query);
      case FunctionQuery::Kind::kLine:
        return find_line(query);
      default:
        return find_name(query);
    }
  }

  Result<std::vector<CallSite>> find_sites(const std::string& place) {
    return find_call_sites(process_, modules_, symbolizer_, place);
  }

  TracedFunction traced(const Candidate& candidate) const {
    const profile::Module& module = process_.modules[candidate.module];
    return {candidate.name, candidate.file, module.path, module.build_id, candidate.begin};
  }

 private:
  bool fits(const FunctionQuery& query, std::uint32_t module) const {
    return matches_module(query, process_.modules[module].path);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const std::uint32_t module : modules_) {
      names.emplace_back(file_of(process_.modules[module].path));
      if (names.size() == 8) break;
    }
    return names;
  }

  Symbolizer::ModuleHandle handle_of(std::uint32_t index) {
    const profile::Module& module = process_.modules[index];
    const Pid pid = process_.processes[module.process].pid;
    return symbolizer_.open_module(
        {module.path, module.build_id, pid.value, module.start, module.size_bytes});
  }

  const std::vector<symbolize::FunctionSymbol>& symbols_of(std::uint32_t module) {
    const auto [entry, is_new] = symbols_.try_emplace(module);
    if (is_new) entry->second = symbolizer_.list_functions(handle_of(module));
    return entry->second;
  }

  Candidate candidate(std::uint32_t module, ImageAddr begin, std::string name) const {
    Candidate result;
    result.module = module;
    result.file = file_of(process_.modules[module].path);
    result.begin = begin;
    result.name = std::move(name);
    return result;
  }

  Result<Choice> find_name(const FunctionQuery& query) {
    std::vector<Candidate> candidates;
    const std::string_view word = tracing::longest_word(query);
    for (const std::uint32_t module : modules_) {
      if (!fits(query, module)) continue;
      for (const auto& symbol : symbols_of(module)) {
        if (symbol.name.find(word) == std::string_view::npos) continue;
        const std::string stem(tracing::without_suffix(symbol.name));
        const std::string readable = symbolize::find_readable_name(stem).value_or("");
        const Fit fit = fit_name(query, symbol.name, readable);
        if (fit == Fit::kNone) continue;
        const bool is_plain = fit == Fit::kCopy || readable.empty();
        candidates.push_back(
            candidate(module, symbol.begin, is_plain ? std::string(symbol.name) : readable));
        candidates.back().fit = fit;
        candidates.back().kind = static_cast<Candidate::Kind>(symbol.kind);
      }
    }
    auto choice = choose_functions(query, candidates, wire::kMostProbes);
    if (!choice && choice.error().message().empty()) return Error(why_not_found(query));
    return choice;
  }

  std::string why_not_found(const FunctionQuery& query) {
    std::set<std::string_view> into;
    for (const std::uint32_t module : modules_) {
      if (!fits(query, module)) continue;
      const auto is_meant = [&query](std::string_view name) {
        return fit_name(query, name, name) >= Fit::kLastPart;
      };
      for (const auto& inlined : symbolizer_.find_inlined(handle_of(module), is_meant)) {
        into.insert(inlined.into);
      }
      if (!into.empty()) break;
    }
    if (!into.empty()) {
      const std::vector<std::string_view> some(
          into.begin(), std::next(into.begin(), std::min<std::ptrdiff_t>(
                                                    static_cast<std::ptrdiff_t>(into.size()), 3)));
      return fmt::format(
          "'{}' is inlined everywhere and has no calls of its own; trace what "
          "contains it: {}",
          query.text, fmt::join(some, ", "));
    }
    std::string text = fmt::format("no function is named '{}'", query.text);
    if (const std::string similar = find_similar(query); !similar.empty()) {
      return text + fmt::format("; did you mean '{}'?", similar);
    }
    const std::string without = files_without_symbols(query);
    return without.empty() ? text : text + "; " + without;
  }

  // The last parts of names are compared, because people leave out the rest.
  std::string find_similar(const FunctionQuery& query) {
    std::vector<std::string> known;
    for (const std::uint32_t module : modules_) {
      if (!fits(query, module)) continue;
      for (const auto& symbol : symbols_of(module)) {
        if (known.size() == kMaxSuggestionSymbols) break;
        std::string name(symbol.name);
        if (const auto readable = symbolize::find_readable_name(name)) {
          name = symbolize::shorten(*readable);
        }
        known.push_back(name.substr(name.rfind(':') + 1));
      }
    }
    return options::find_similar(query.name.substr(query.name.rfind(':') + 1), known);
  }

  std::string files_without_symbols(const FunctionQuery& query) {
    std::vector<std::string> names;
    for (const std::uint32_t module : modules_) {
      if (!fits(query, module) || names.size() == 3) continue;
      const Symbolizer::Sources sources = symbolizer_.sources(handle_of(module));
      if (!sources.symbol_table) names.emplace_back(file_of(process_.modules[module].path));
    }
    if (names.empty()) return {};
    return fmt::format("of {} only exported functions are known, as there is no symbol table",
                       fmt::join(names, ", "));
  }

  bool is_moved_part(std::uint32_t module, ImageAddr begin) {
    const auto& symbols = symbols_of(module);
    return std::any_of(symbols.begin(), symbols.end(), [begin](const auto& symbol) {
      return symbol.begin == begin && symbol.name.find(".cold") != std::string_view::npos;
    });
  }

  Result<Choice> find_line(const FunctionQuery& query) {
    std::vector<Candidate> candidates;
    std::set<std::string_view> inlined;
    for (const std::uint32_t module : modules_) {
      if (!fits(query, module)) continue;
      for (const auto& found : symbolizer_.find_line(handle_of(module), query.name, query.line)) {
        if (is_moved_part(module, found.begin)) continue;
        candidates.push_back(
            candidate(module, found.begin, std::string(found.functions.back().name)));
        if (found.functions.size() > 1) inlined.insert(found.functions.front().name);
      }
    }
    if (candidates.empty()) {
      return Error(
          fmt::format("no code is known of {}: its file has no line table, or there is no "
                      "such line",
                      query.text));
    }
    auto choice = choose_functions(query, candidates, wire::kMostProbes);
    if (!choice || inlined.empty()) return choice;
    choice->note = fmt::format("{} is in '{}', which is inlined into '{}': that one is traced",
                               query.text, *inlined.begin(), choice->functions.front().name);
    return choice;
  }

  Result<Choice> find_address(const FunctionQuery& query) {
    for (const std::uint32_t index : modules_) {
      if (!query.module.empty() && fits(query, index)) return function_at(index, {query.address});
    }
    for (std::uint32_t index = 0; index < process_.modules.size(); ++index) {
      const profile::Module& module = process_.modules[index];
      if (query.module.empty() && query.address - module.start.value < module.size_bytes) {
        return function_at(index, {query.address - module.load_bias});
      }
    }
    return Error(fmt::format("no file is mapped at {}", query.text));
  }

  Result<Choice> function_at(std::uint32_t module, ImageAddr address) {
    const Symbolizer::ModuleHandle handle = handle_of(module);
    const FileOffset offset = symbolizer_.file_offset(handle, address);
    const auto functions = symbolizer_.find_functions(handle, offset);
    if (!functions.empty() && !functions.back().inlined) {
      return Choice{{candidate(module, {address.value - functions.back().offset},
                               std::string(functions.back().name))},
                    ""};
    }
    const auto begin = symbolizer_.function_start(handle, offset);
    if (!begin) return Error(fmt::format("no function is known at 0x{:x}", address.value));
    return Choice{{candidate(module, *begin,
                             fmt::format("[{}+0x{:x}]", file_of(process_.modules[module].path),
                                         begin->value))},
                  ""};
  }

  const profile::Recording& process_;
  Symbolizer symbolizer_;
  std::vector<std::uint32_t> modules_;  // one of each file
  std::map<std::uint32_t, std::vector<symbolize::FunctionSymbol>> symbols_;
};

}  // namespace

Result<FoundFunctions> find_traced_functions(const profile::Recording& process,
                                             const std::vector<std::string>& texts,
                                             const std::string& site,
                                             const std::vector<std::string>& debug_directories) {
  const auto is_other = [](const profile::Process& each) {
    return each.machine != EM_X86_64 && each.machine != EM_AARCH64;
  };
  if (std::ranges::any_of(process.processes, is_other)) {
    return Error("functions can be traced on x86-64 and aarch64 only");
  }
  FunctionFinder finder(process, debug_directories);
  FoundFunctions result;
  if (!site.empty()) {
    auto sites = finder.find_sites(site);
    if (!sites) return sites.error();
    result.sites = *std::move(sites);
  }
  std::set<std::pair<std::string, ImageAddr>> seen;
  for (const std::string& text : texts) {
    const auto query = tracing::parse_function_query(text);
    if (!query) return query.error();
    const auto choice = finder.find(*query);
    if (!choice) return choice.error();
    if (!choice->note.empty()) result.notes.push_back(choice->note);
    for (const Candidate& function : choice->functions) {
      TracedFunction traced = finder.traced(function);
      if (seen.emplace(traced.path, traced.begin).second) {
        result.functions.push_back(std::move(traced));
      }
    }
  }
  if (result.functions.size() > wire::kMostProbes) {
    return Error(fmt::format("{} functions are too many: at most {} can be traced at once",
                             result.functions.size(), wire::kMostProbes));
  }
  return result;
}

}  // namespace swipr::commands
