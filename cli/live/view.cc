#include "cli/live/view.h"

#include <algorithm>

#include "common/core/ascii_text.h"

namespace swipr::live {

namespace {

constexpr auto kWindows = std::to_array<std::size_t>({1, 5, 10, 30, 60});
constexpr std::size_t kPageRows = 10;

bool matches(std::string_view name, const View& view) {
  return contains_ignoring_case(name, view.filter);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::size_t row_count(const Figures& figures, const View& view) {
  switch (view.pane) {
    case Pane::kFunctions:
      return shown_functions(figures, view).size();
    case Pane::kTree:
      return shown_tree(figures, view).size();
    case Pane::kThreads:
      return shown_threads(figures, view).size();
    case Pane::kLocks:
      return shown_locks(figures).size();
  }
  return 0;
}

void move(View& view, std::ptrdiff_t by, const Figures& figures) {
  std::size_t& at = view.selected[static_cast<std::size_t>(view.pane)];
  const auto count = static_cast<std::ptrdiff_t>(row_count(figures, view));
  const auto wanted = static_cast<std::ptrdiff_t>(at) + by;
  at = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(wanted, 0, std::max<std::ptrdiff_t>(count - 1, 0)));
}

void change_pane(View& view, std::size_t by) {
  view.pane = static_cast<Pane>((static_cast<std::size_t>(view.pane) + by) % kPaneCount);
}

void change_window(View& view, bool longer) {
  if (longer) {
    const auto* next = std::upper_bound(kWindows.begin(), kWindows.end(), view.seconds);
    if (next != kWindows.end()) view.seconds = *next;
  } else {
    const auto* next = std::lower_bound(kWindows.begin(), kWindows.end(), view.seconds);
    if (next != kWindows.begin()) view.seconds = *(next - 1);
  }
}

void toggle_node(View& view, const Figures& figures) {
  if (view.pane != Pane::kTree) return;
  const auto rows = shown_tree(figures, view);
  const std::size_t at = view.selected[static_cast<std::size_t>(Pane::kTree)];
  if (at >= rows.size() || !rows[at].has_children) return;
  if (view.closed.erase(rows[at].path) == 0) view.closed.insert(rows[at].path);
}

void take_baseline(View& view, const Figures& figures) {
  auto& shares = view.baseline.emplace();
  for (const profile::TopFunction& function : figures.functions.functions) {
    shares[function.function] += share(function.self, figures.functions.total);
  }
  view.shows_difference = true;
  view.message = "baseline taken: changes are shown since now (d: hide)";
}

void toggle_slow(View& view, const Figures& figures) {
  if (!view.only_slow && !figures.latency) {
    view.message = "t traces the chosen function first";
    return;
  }
  view.only_slow = !view.only_slow;
  // Slow calls often wait.
  if (view.only_slow && view.weight == profile::Weight::kCpu) view.weight = profile::Weight::kWall;
}

void on_typed(View& view, int key) {
  if (key == kKeyEnter) {
    view.is_typing = false;
  } else if (key == kKeyEscape) {
    view.is_typing = false;
    view.filter.clear();
  } else if (key == kKeyBackspace) {
    if (!view.filter.empty()) view.filter.pop_back();
  } else if (key >= 0x20 && key < 0x7f && view.filter.size() < 60) {
    view.filter += static_cast<char>(key);
  }
  view.selected = {};
}

void next_sort(View& view) {
  if (view.sort == Sort::kSelf) {
    view.sort = Sort::kTotal;
  } else if (view.sort == Sort::kTotal && view.baseline) {
    view.sort = Sort::kChange;
  } else {
    view.sort = Sort::kSelf;
  }
}

}  // namespace

std::optional<double> change_of(const profile::TopFunction& function, const Figures& figures,
                                const View& view) {
  if (!view.baseline || !view.shows_difference) return std::nullopt;
  const auto before = view.baseline->find(function.function);
  return share(function.self, figures.functions.total) -
         (before == view.baseline->end() ? 0 : before->second);
}

std::vector<profile::TopFunction> shown_functions(const Figures& figures, const View& view) {
  std::vector<profile::TopFunction> rows;
  for (const profile::TopFunction& function : figures.functions.functions) {
    if (function.total != 0 && matches(function.function, view)) rows.push_back(function);
  }
  if (view.sort == Sort::kTotal) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.total > b.total; });
  } else if (view.sort == Sort::kChange) {
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return change_of(a, figures, view).value_or(0) > change_of(b, figures, view).value_or(0);
    });
  }
  return rows;
}

std::vector<TreeRow> shown_tree(const Figures& figures, const View& view) {
  std::vector<TreeRow> rows;
  std::vector<std::string> path;
  std::uint32_t closed_depth = UINT32_MAX;
  for (std::size_t at = 0; at < figures.tree.size(); ++at) {
    const profile::PathNode& node = figures.tree[at];
    if (node.depth > closed_depth) continue;
    closed_depth = UINT32_MAX;
    path.resize(std::min<std::size_t>(path.size(), node.depth));
    path.push_back((path.empty() ? "" : path.back()) + "\n" + node.function);
    const bool has_children =
        at + 1 < figures.tree.size() && figures.tree[at + 1].depth > node.depth;
    const bool is_closed = view.closed.contains(path.back());
    if (is_closed) closed_depth = node.depth;
    if (matches(node.function, view)) rows.push_back({&node, path.back(), has_children, is_closed});
  }
  return rows;
}

std::vector<const Figures::Thread*> shown_threads(const Figures& figures, const View& view) {
  std::vector<const Figures::Thread*> rows;
  for (const Figures::Thread& thread : figures.threads) {
    const bool is_other = view.pane != Pane::kThreads;  // the filter is about functions there
    if (is_other || matches(thread.name, view)) rows.push_back(&thread);
  }
  return rows;
}

std::string selected_function(const Figures& figures, const View& view) {
  const std::size_t at = view.selected[static_cast<std::size_t>(view.pane)];
  if (view.pane == Pane::kFunctions) {
    const auto rows = shown_functions(figures, view);
    return rows.empty() ? "" : rows[std::min(at, rows.size() - 1)].function;
  }
  if (view.pane == Pane::kTree) {
    const auto rows = shown_tree(figures, view);
    return rows.empty() ? "" : rows[std::min(at, rows.size() - 1)].node->function;
  }
  return "";
}

std::vector<LockRow> shown_locks(const Figures& figures) {
  std::vector<LockRow> rows;
  for (const profile::LockCycle& cycle : figures.deadlocks) {
    for (std::size_t at = 0; at < cycle.waits.size(); ++at) {
      const profile::LockCycle::Wait& wait = cycle.waits[at];
      const std::string& holder = cycle.waits[(at + 1) % cycle.waits.size()].name;
      rows.push_back({cycle.waited,
                      "deadlock: " + wait.name + " waits for " + holder + ", " + wait.lock, true});
    }
  }
  for (const profile::LockOwner& lock : figures.locks) {
    rows.push_back({lock.waited, lock.lock + ": " + lock.owner, false});
  }
  return rows;
}

Action on_key(View& view, int key, const Figures& figures) {
  if (view.is_typing) {
    on_typed(view, key);
    return Action::kNone;
  }
  view.message.clear();
  if (view.shows_help && key != 'q') {
    view.shows_help = false;
    return Action::kNone;
  }
  switch (key) {
    case 'q':
      return Action::kQuit;
    case 'S':
      return Action::kSave;
    case 't':
      return Action::kTrace;
    case '9':
      toggle_slow(view, figures);
      break;
    case kKeyTab:
      change_pane(view, 1);
      break;
    case kKeyBackTab:
      change_pane(view, kPaneCount - 1);
      break;
    case kKeyUp:
    case 'k':
      move(view, -1, figures);
      break;
    case kKeyDown:
    case 'j':
      move(view, 1, figures);
      break;
    case kKeyPageUp:
      move(view, -static_cast<std::ptrdiff_t>(kPageRows), figures);
      break;
    case kKeyPageDown:
      move(view, kPageRows, figures);
      break;
    case kKeyEnter:
      toggle_node(view, figures);
      break;
    case '/':
      view.is_typing = true;
      break;
    case kKeyEscape:
      view.filter.clear();
      break;
    case 's':
      next_sort(view);
      break;
    case 'w':
      view.weight = static_cast<profile::Weight>((static_cast<unsigned>(view.weight) + 1) % 5);
      break;
    case '+':
    case '-':
      change_window(view, key == '+');
      break;
    case 'p':
    case ' ':
      view.is_paused = !view.is_paused;
      break;
    case 'b':
      take_baseline(view, figures);
      break;
    case 'd':
      view.shows_difference = !view.shows_difference;
      if (!view.baseline) view.message = "b takes the baseline first";
      break;
    case '?':
    case 'h':
      view.shows_help = true;
      break;
    default:
      break;
  }
  return Action::kNone;
}

}  // namespace swipr::live
