// What a person has chosen to see in `swipr top`, and what keys change in it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/live/figures.h"

namespace swipr::live {

enum class Pane : std::uint8_t { kFunctions, kTree, kThreads, kLocks };
inline constexpr std::size_t kPaneCount = 4;

enum class Sort : std::uint8_t { kSelf, kTotal, kChange };

// Characters are as typed; these are above all of them.
enum Key : int {
  kKeyUp = 0x110000,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyTab,
  kKeyBackTab,
  kKeyEnter,
  kKeyEscape,
  kKeyBackspace,
};

enum class Action : std::uint8_t { kNone, kQuit, kSave, kTrace };

struct View {
  Pane pane = Pane::kFunctions;
  std::array<std::size_t, kPaneCount> selected{};  // row in each pane
  profile::Weight weight = profile::Weight::kCpu;
  Sort sort = Sort::kSelf;
  std::size_t seconds = 10;
  std::string filter;      // part of a name, in any case
  bool is_typing = false;  // the filter
  bool is_paused = false;
  bool shows_help = false;
  bool shows_difference = false;
  bool only_slow = false;  // samples in calls of the traced function above its p95
  std::optional<std::map<std::string, double>> baseline;  // self share by function
  std::set<std::string> closed;                           // nodes of the tree, as paths
  std::string message;
};

// Rows that the panes show, in their order.
std::vector<profile::TopFunction> shown_functions(const Figures& figures, const View& view);
struct TreeRow {
  const profile::PathNode* node;
  std::string path;
  bool has_children;
  bool is_closed;
};
std::vector<TreeRow> shown_tree(const Figures& figures, const View& view);
std::vector<const Figures::Thread*> shown_threads(const Figures& figures, const View& view);

// What threads wait for: deadlocks, a row for each thread in them, then the locks of all.
struct LockRow {
  std::chrono::nanoseconds waited{0};
  std::string text;
  bool is_deadlock = false;
};
std::vector<LockRow> shown_locks(const Figures& figures);

// The function in the chosen row; empty: the row has none.
std::string selected_function(const Figures& figures, const View& view);

// Change of the self share since the baseline; none: there is no baseline.
std::optional<double> change_of(const profile::TopFunction& function, const Figures& figures,
                                const View& view);

Action on_key(View& view, int key, const Figures& figures);

}  // namespace swipr::live
