#include "cli/commands/output/filters.h"

#include <fmt/format.h>
#include <regex.h>

#include <array>
#include <map>
#include <memory>
#include <utility>

#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/splits.h"
#include "cli/export/text/text.h"
#include "cli/profile/filter.h"
#include "cli/profile/tables/thread_times.h"

namespace swipr::commands {

namespace {

using host::Error;
using host::Result;

struct FreeRegex {
  void operator()(regex_t* regex) const {
    ::regfree(regex);
    delete regex;
  }
};

// A POSIX extended expression. std::regex would recurse once per character, and names can be
// long. Null: no expression.
Result<profile::NameMatch> compile(const std::string& option, const std::string& expression) {
  if (expression.empty()) return profile::NameMatch();
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 256> reason{};
    ::regerror(error, compiled.get(), reason.data(), reason.size());
    return Error(
        fmt::format("{} '{}' is not a regular expression: {}", option, expression, reason.data()));
  }
  const std::shared_ptr<regex_t> regex(compiled.release(), FreeRegex());
  return profile::NameMatch([regex](std::string_view name) {
    return ::regexec(regex.get(), std::string(name).c_str(), 0, nullptr, 0) == 0;
  });
}

// The options in use: " --thread main --state blocked".
std::string describe(const options::FilterOptions& filters) {
  std::string text;
  for (const std::string& thread : filters.samples.threads) text += " --thread " + thread;
  for (const auto& [key, pattern] : filters.samples.labels)
    text += fmt::format(" --label {}={}", key, pattern);
  if (!filters.samples.states.empty()) text += " --state";
  if (filters.samples.from) text += " --from";
  if (filters.samples.to) text += " --to";
  if (!filters.only.empty()) text += " --only " + filters.only;
  if (!filters.hide.empty()) text += " --hide " + filters.hide;
  if (!filters.focus.empty()) text += " --focus " + filters.focus;
  return text;
}

Result<void> check_rest(std::size_t before, std::size_t after,
                        const options::FilterOptions& filters) {
  if (after != 0 || before == 0) return {};
  return Error(fmt::format("no sample matches{}; `swipr report` shows all", describe(filters)));
}

// The reason why a recording has no samples.
std::string describe_nothing(const profile::Recording& recording) {
  std::uint64_t ticks = 0;
  auto mode = profile::Mode::kWall;
  for (const profile::Process& process : recording.processes) {
    const auto found = process.totals.find("ticks");
    if (found != process.totals.end()) ticks += found->second;
    mode = process.mode;
  }
  if (ticks == 0) {
    return "nothing was recorded: the program or the recording ended before the first tick; use a "
           "shorter --interval";
  }
  if (mode == profile::Mode::kWall) {
    return fmt::format("nothing was recorded: no thread was found in {} ticks", ticks);
  }
  return fmt::format("nothing was recorded: in {} ticks no thread {} (--mode {})", ticks,
                     mode == profile::Mode::kCpu ? "used the CPU" : "waited",
                     profile::mode_name(mode));
}

// The order matters: times count from the start of the whole recording, and crediting needs all
// samples in sequence. Crediting moves time between states, never between threads.
void keep_wanted(profile::Recording& recording, const options::FilterOptions& filters,
                 Credit credit) {
  profile::keep_times(recording, filters.samples);
  if (credit == Credit::kYes) profile::credit_cpu(recording);
  profile::keep_threads_and_states(recording, filters.samples);
  profile::keep_labels(recording, filters.samples.labels);
  if (filters.merge_threads) profile::merge_threads(recording);
}

// Owns the names of states that are shown as frames, and all earlier names.
struct StateTexts {
  std::shared_ptr<const void> earlier;
  std::map<std::string, std::uint32_t> frames;
};

}  // namespace

Result<Inputs> load_inputs(const std::vector<std::string>& paths, const std::string& base,
                           const options::FilterOptions& filters, Credit credit) {
  Inputs inputs;
  std::size_t before = 0;
  for (const std::string& path : paths) {
    auto recording = load_recording(path);
    if (!recording) return recording.error();
    before += recording->samples.size();
    if (&path == &paths.front()) {
      inputs.recording = *std::move(recording);
    } else {
      profile::append(inputs.recording, *std::move(recording), profile::Align::kRealTime);
    }
  }
  if (!profile::has_samples(inputs.recording)) {
    inputs.recording.warnings.push_back(describe_nothing(inputs.recording));
  }
  keep_wanted(inputs.recording, filters, credit);
  if (auto rest = check_rest(before, inputs.recording.samples.size(), filters); !rest) {
    return rest.error();
  }
  if (base.empty()) return inputs;
  auto compared = load_recording(base);
  if (!compared) return compared.error();
  keep_wanted(*compared, filters, credit);
  inputs.first_base_process = static_cast<std::uint32_t>(inputs.recording.processes.size());
  profile::append(inputs.recording, *std::move(compared), profile::Align::kBegin);
  return inputs;
}

Result<std::uint32_t> filter_stacks(profile::Recording& recording, profile::Names& names,
                                    const options::FilterOptions& filters) {
  std::uint32_t first_base_process = profile::kNone;
  for (const options::SplitOption& split : filters.splits) {
    auto base = apply_split(recording, names, split);
    if (!base) return base.error();
    first_base_process = *base;
  }
  auto only = compile("--only", filters.only);
  if (!only) return only.error();
  auto hide = compile("--hide", filters.hide);
  if (!hide) return hide.error();
  auto focus = compile("--focus", filters.focus);
  if (!focus) return focus.error();
  const std::size_t before = recording.samples.size();
  profile::filter_stacks(recording, names,
                         {.kinds = filters.frames,
                          .only = *std::move(only),
                          .hide = *std::move(hide),
                          .focus = *std::move(focus)});
  if (auto rest = check_rest(before, recording.samples.size(), filters); !rest) {
    return rest.error();
  }
  return first_base_process;
}

void invert_stacks(profile::Recording& recording, profile::Names& names, bool with_states) {
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> stacks;
  const auto texts = std::make_shared<StateTexts>(StateTexts{names.texts, {}});
  std::map<std::string, std::uint32_t>& frames = texts->frames;
  names.texts = texts;
  for (profile::Sample& sample : recording.samples) {
    if (!with_states) break;
    const std::string state = exporters::state_frame(recording, sample.state, sample.stack);
    if (state.empty()) continue;
    const auto [frame, is_new_frame] =
        frames.try_emplace(state, static_cast<std::uint32_t>(recording.frames.size()));
    if (is_new_frame) {
      recording.frames.emplace_back();
      names.frames.emplace_back().emplace_back().function = frame->first;
    }
    const auto [stack, is_new] = stacks.try_emplace(
        {sample.stack, state}, static_cast<std::uint32_t>(recording.stacks.size()));
    if (is_new) {
      profile::Stack waiting =
          sample.stack == profile::kNone ? profile::Stack() : recording.stacks[sample.stack];
      waiting.frames.insert(waiting.frames.begin(), frame->second);
      if (waiting.omitted_at != profile::kNone) ++waiting.omitted_at;
      recording.stacks.push_back(std::move(waiting));
    }
    sample.stack = stack->second;
  }
  profile::invert_stacks(recording, names);
}

}  // namespace swipr::commands
