#include "cli/commands/output/splits.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "cli/profile/filter.h"
#include "cli/trace/function_query.h"

namespace swipr::commands {

namespace {

using host::Error;
using host::Result;
using profile::CallPart;
using profile::CallSplit;
using profile::Recording;

// The physical function: the traced one begins there.
const profile::NamedFrame* named(const profile::Names& names,
                                 const profile::TracedFunction& function) {
  if (function.frame == profile::kNone || names.frames[function.frame].empty()) return nullptr;
  return &names.frames[function.frame].back();
}

std::string names_of_traced(const Recording& recording, const profile::Names& names) {
  std::set<std::string> distinct;
  for (const auto& function : recording.traced) {
    if (function.was_traced) distinct.insert(name_of(recording, names, function));
  }
  std::string text;
  for (const std::string& name : distinct) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Those that fit best; of an empty text all, if they have one name.
Result<std::vector<std::uint32_t>> find_functions(const Recording& recording,
                                                  const profile::Names& names,
                                                  const std::string& text) {
  std::vector<std::uint32_t> found;
  std::set<std::string> distinct;
  tracing::Fit best = tracing::Fit::kLastPart;
  auto query = tracing::parse_function_query(text.empty() ? "*" : text);
  if (!query) return query.error();
  for (std::uint32_t index = 0; index < recording.traced.size(); ++index) {
    const profile::TracedFunction& function = recording.traced[index];
    const profile::NamedFrame* const frame = named(names, function);
    if (!function.was_traced || frame == nullptr) continue;
    const std::uint32_t module = recording.frames[function.frame].module;
    const bool is_in_module =
        query->module.empty() ||
        (module != profile::kNone && matches_module(*query, recording.modules[module].path));
    const tracing::Fit fit =
        is_in_module ? fit_name(*query, frame->system_name, frame->function) : tracing::Fit::kNone;
    if (fit == tracing::Fit::kNone || fit < best) continue;
    if (fit > best) found.clear();
    best = fit;
    found.push_back(index);
    distinct.insert(std::string(frame->function));
  }
  if (text.empty() && distinct.size() > 1) {
    return Error(
        fmt::format("--split needs a function, as in --split handle:p95: the traced "
                    "functions are {}",
                    names_of_traced(recording, names)));
  }
  if (found.empty()) {
    return Error(fmt::format("--split: no traced function is '{}'; traced were {}", text,
                             names_of_traced(recording, names)));
  }
  return found;
}

Result<void> check_left(const Recording& recording, const options::SplitOption& option) {
  if (!recording.samples.empty()) return {};
  return Error(fmt::format("no sample is left by --split {}", option.text));
}

}  // namespace

std::string name_of(const Recording& recording, const profile::Names& names,
                    const profile::TracedFunction& function) {
  if (const profile::NamedFrame* const frame = named(names, function); frame != nullptr) {
    return std::string(frame->function);
  }
  if (function.frame == profile::kNone) return "a function that was not found";
  return fmt::format("0x{:x}", recording.frames[function.frame].pc.value);
}

Result<CallSplit> find_split(const Recording& recording, const profile::Names& names,
                             const options::SplitOption& option) {
  if (names_of_traced(recording, names).empty()) {
    return Error("--split: the recording has no traced calls; record them with swipr trace");
  }
  auto functions = find_functions(recording, names, option.function);
  if (!functions) return functions.error();
  auto threshold = option.threshold;
  if (option.quantile != 0) {
    const auto quantile = profile::quantile_of_calls(recording, *functions, option.quantile);
    if (!quantile) {
      return Error(fmt::format("--split {}: too few calls have ended to know it", option.text));
    }
    threshold = *quantile;
  }
  return CallSplit(recording, *std::move(functions), threshold);
}

Result<std::uint32_t> apply_split(Recording& recording, profile::Names& names,
                                  const options::SplitOption& option) {
  auto split = find_split(recording, names, option);
  if (!split) return split.error();
  const bool is_difference = option.part == options::SplitPart::kDifference;
  Recording base;
  if (is_difference) {
    base = recording;
    keep_part(base, *split, CallPart::kNormal);
  }
  const bool wants_normal = option.part == options::SplitPart::kNormal;
  keep_part(recording, *split, wants_normal ? CallPart::kNormal : CallPart::kSlow);
  if (auto left = check_left(recording, option); !left) return left.error();
  if (!is_difference) return profile::kNone;
  const auto first = static_cast<std::uint32_t>(recording.processes.size());
  const std::vector<profile::FrameNames> again = names.frames;
  names.frames.insert(names.frames.end(), again.begin(), again.end());
  profile::append(recording, std::move(base), profile::Align::kRealTime);
  return first;
}

}  // namespace swipr::commands
