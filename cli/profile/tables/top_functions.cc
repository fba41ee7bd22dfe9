#include "cli/profile/tables/top_functions.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "cli/profile/group/aggregate.h"

namespace swipr::profile {

namespace {
class Table {
 public:
  Table(const Recording& recording, const Names& names) : recording_(recording) {
    functions_of_frame_.reserve(names.frames.size());
    for (const FrameNames& frame : names.frames) {
      std::vector<std::size_t>& functions = functions_of_frame_.emplace_back();
      for (const NamedFrame& named : frame)
        functions.push_back(index_of_name(named.function, named.language));
    }
  }

  void add(const MergedStack& merged, std::uint64_t weight) {
    result_.total += weight;
    ++stacks_added_;
    if (merged.stack == kNone || recording_.stacks[merged.stack].frames.empty()) {
      count(index_of_name(kNoStack, Language::kNative), weight, true);
      return;
    }
    bool innermost = true;
    for (std::uint32_t frame : recording_.stacks[merged.stack].frames) {
      for (std::size_t function : functions_of_frame_[frame]) {
        count(function, weight, innermost);
        innermost = false;
      }
    }
  }

  TopFunctions take() {
    std::erase_if(result_.functions, [](const TopFunction& entry) { return entry.total == 0; });
    std::sort(result_.functions.begin(), result_.functions.end(),
              [](const TopFunction& left, const TopFunction& right) {
                if (left.self != right.self) return left.self > right.self;
                if (left.total != right.total) return left.total > right.total;
                return left.function < right.function;
              });
    return std::move(result_);
  }

 private:
  std::size_t index_of_name(std::string_view name, Language language) {
    const auto [place, is_new] = index_.try_emplace(std::string(name), result_.functions.size());
    if (is_new) {
      result_.functions.push_back({std::string(name), 0, 0, language});
      last_stack_.push_back(0);
    }
    return place->second;
  }

  void count(std::size_t function, std::uint64_t weight, bool self) {
    if (self) result_.functions[function].self += weight;
    // In a recursion, a function is counted once per stack.
    if (last_stack_[function] == stacks_added_) return;
    last_stack_[function] = stacks_added_;
    result_.functions[function].total += weight;
  }

  const Recording& recording_;
  TopFunctions result_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::vector<std::size_t>> functions_of_frame_;
  std::vector<std::uint64_t> last_stack_;  // per function: number of the stack that counted it last
  std::uint64_t stacks_added_ = 0;
};
}  // namespace

TopFunctions top_functions(const Recording& recording, const Names& names, Weight weight) {
  Table table(recording, names);
  for (const MergedStack& merged : aggregate(recording, {.by_thread = false, .by_state = false})) {
    table.add(merged, merged.weights[index_of(weight)]);
  }
  return table.take();
}

}  // namespace swipr::profile
