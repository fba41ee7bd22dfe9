#include "cli/profile/call_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "cli/profile/tables/top_functions.h"
#include "common/core/duration_buckets.h"
#include "common/core/quantile_text.h"

namespace swipr::profile {

namespace {

using std::chrono::nanoseconds;

// By bucket, of all these functions. Sums of hostile counts wrap, which does no harm.
std::map<std::uint32_t, std::uint64_t> buckets_of(const Recording& recording,
                                                  std::span<const std::uint32_t> functions) {
  std::map<std::uint32_t, std::uint64_t> sum;
  for (const std::uint32_t function : functions) {
    for (const auto& [bucket, calls] : recording.traced[function].buckets) sum[bucket] += calls;
  }
  return sum;
}

nanoseconds middle_of(std::uint32_t bucket) {
  const std::uint64_t begin = bucket_begin(bucket);
  return nanoseconds(static_cast<std::int64_t>((begin / 2 + bucket_begin(bucket + 1) / 2)));
}

void count_calls(const Recording& recording, const CallSplit& split, SplitComparison& out) {
  for (const auto& [bucket, calls] : buckets_of(recording, split.functions())) {
    (middle_of(bucket) > split.threshold() ? out.slow : out.normal).calls += calls;
  }
}

SplitSide* side_of(SplitComparison& comparison, CallPart part) {
  switch (part) {
    case CallPart::kSlow:
      return &comparison.slow;
    case CallPart::kNormal:
      return &comparison.normal;
    case CallPart::kUnfinished:
      return &comparison.unfinished;
    case CallPart::kOutside:
      break;
  }
  return nullptr;
}

// By frame: whether a traced function of the split is its physical function.
std::vector<bool> frames_of_functions(const Recording& recording, const Names& names,
                                      const CallSplit& split) {
  std::vector<bool> result(recording.frames.size());
  for (const std::uint32_t function : split.functions()) {
    const std::uint32_t begin = recording.traced[function].frame;
    if (begin == kNone || names.frames[begin].empty()) continue;
    const std::string_view name = names.frames[begin].back().function;
    for (std::size_t frame = 0; frame < result.size(); ++frame) {
      const FrameNames& named = names.frames[frame];
      if (!named.empty() && named.back().function == name) result[frame] = true;
    }
  }
  return result;
}

// Weight by function, of one part. Callers of the traced functions have all of it: left out.
TopFunctions functions_of(const Recording& recording, const Names& names, const CallSplit& split,
                          CallPart part, Weight weight) {
  Recording kept = recording;
  keep_part(kept, split, part);
  const std::vector<bool> is_traced = frames_of_functions(recording, names, split);
  for (Stack& stack : kept.stacks) {
    const auto outermost = std::find_if(stack.frames.rbegin(), stack.frames.rend(),
                                        [&](std::uint32_t frame) { return is_traced[frame]; });
    if (outermost != stack.frames.rend()) stack.frames.erase(outermost.base(), stack.frames.end());
  }
  return top_functions(kept, names, weight);
}

}  // namespace

std::optional<nanoseconds> quantile_of_calls(const Recording& recording,
                                             std::span<const std::uint32_t> functions,
                                             std::uint64_t units) {
  const auto buckets = buckets_of(recording, functions);
  std::uint64_t calls = 0;
  for (const auto& [bucket, count] : buckets) calls += count;
  const std::uint64_t below =
      calls / kQuantileUnits * units + calls % kQuantileUnits * units / kQuantileUnits;
  if (below >= calls) return std::nullopt;
  // Fewer than one call would be slower.
  if (calls / kQuantileUnits == 0 && calls * (kQuantileUnits - units) < kQuantileUnits) {
    return std::nullopt;
  }
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets) {
    seen += count;
    // Not its middle: calls of one bucket are all slow or none is, as they are counted.
    if (seen > below) return nanoseconds(static_cast<std::int64_t>(bucket_begin(bucket + 1) - 1));
  }
  return std::nullopt;
}

CallSplit::CallSplit(const Recording& recording, std::vector<std::uint32_t> functions,
                     nanoseconds threshold)
    : recording_(recording),
      functions_(std::move(functions)),
      threshold_(threshold),
      is_wanted_(recording.traced.size()),
      met_at_(recording.calls.size()) {
  for (const std::uint32_t function : functions_) is_wanted_[function] = true;
  for (const Sample& sample : recording.samples) {
    for (const std::uint32_t call : calls_of(recording, sample)) {
      met_at_[call] = std::max(met_at_[call], sample.time);
    }
  }
}

CallPart CallSplit::part_of(std::uint32_t number) const {
  const Call& call = recording_.calls[number];
  if (!is_wanted_[call.function]) return CallPart::kOutside;
  if (call.duration) return *call.duration > threshold_ ? CallPart::kSlow : CallPart::kNormal;
  return met_at_[number] - call.begin > threshold_ ? CallPart::kSlow : CallPart::kUnfinished;
}

// With several functions a sample may be in calls of some of them: slow in one is slow.
CallPart CallSplit::part_of(const Sample& sample) const {
  CallPart part = CallPart::kOutside;
  for (const std::uint32_t call : calls_of(recording_, sample)) {
    const CallPart found = part_of(call);
    if (found == CallPart::kSlow) return found;
    if (found != CallPart::kOutside && part != CallPart::kUnfinished) part = found;
  }
  return part;
}

void keep_part(Recording& recording, const CallSplit& split, CallPart part) {
  std::erase_if(recording.samples,
                [&](const Sample& sample) { return split.part_of(sample) != part; });
}

double per_call(std::uint64_t weight, const SplitSide& side) {
  return side.calls == 0 ? 0 : static_cast<double>(weight) / static_cast<double>(side.calls);
}

SplitComparison compare_parts(const Recording& recording, const Names& names,
                              const CallSplit& split, Weight weight) {
  SplitComparison result;
  count_calls(recording, split, result);
  std::vector<bool> was_met(recording.calls.size());
  for (const Sample& sample : recording.samples) {
    SplitSide* const side = side_of(result, split.part_of(sample));
    if (side == nullptr) continue;
    side->samples += sample.ticks;
    side->weight += weight_of(sample, weight);
    for (const std::uint32_t call : calls_of(recording, sample)) {
      const std::uint32_t function = recording.calls[call].function;
      const bool counts = std::find(split.functions().begin(), split.functions().end(), function) !=
                          split.functions().end();
      if (counts && !was_met[call]) ++side->sampled_calls;
      if (counts) was_met[call] = true;
    }
  }
  std::map<std::string, SplitFunction> functions;
  for (const CallPart part : {CallPart::kSlow, CallPart::kNormal}) {
    for (TopFunction& top : functions_of(recording, names, split, part, weight).functions) {
      SplitFunction& function = functions[top.function];
      function.function = top.function;
      (part == CallPart::kSlow ? function.slow : function.normal) += top.total;
    }
  }
  for (auto& [name, function] : functions) result.functions.push_back(std::move(function));
  const auto difference = [&result](const SplitFunction& function) {
    return per_call(function.slow, result.slow) - per_call(function.normal, result.normal);
  };
  std::stable_sort(result.functions.begin(), result.functions.end(),
                   [&difference](const SplitFunction& a, const SplitFunction& b) {
                     return difference(a) > difference(b);
                   });
  return result;
}

std::vector<std::uint32_t> separate_calls(Recording& recording) {
  std::vector<std::uint32_t> innermost(recording.stacks.size(), kNone);
  std::unordered_map<std::uint64_t, std::uint32_t> separated;
  for (Sample& sample : recording.samples) {
    const auto calls = calls_of(recording, sample);
    if (calls.empty() || sample.stack == kNone) continue;
    const std::uint64_t key = std::uint64_t{sample.stack} << 32 | calls.front();
    const auto [place, is_new] =
        separated.try_emplace(key, static_cast<std::uint32_t>(recording.stacks.size()));
    if (is_new) {
      recording.stacks.push_back(Stack(recording.stacks[sample.stack]));
      innermost.push_back(calls.front());
    }
    sample.stack = place->second;
  }
  return innermost;
}

}  // namespace swipr::profile
