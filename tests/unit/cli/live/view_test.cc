#include "cli/live/view.h"

#include <gtest/gtest.h>

#include "tests/golden/workers_recording.h"

namespace swipr::live {
namespace {

Figures golden_figures(profile::Weight weight = profile::Weight::kWall) {
  golden::Golden input = golden::make_workers();
  return make_figures(input.recording, input.names, weight,
                      [](profile::State, std::uint32_t) { return std::string(); });
}

std::vector<std::string> names_of(const Figures& figures, const View& view) {
  std::vector<std::string> names;
  for (const auto& function : shown_functions(figures, view)) names.push_back(function.function);
  return names;
}

void type(View& view, std::string_view text, const Figures& figures) {
  for (const char letter : text) on_key(view, letter, figures);
}

TEST(TopFigures, SayWhoHoldsALock) {
  const Figures figures = golden_figures();
  ASSERT_EQ(figures.locks.size(), 1u);
  EXPECT_EQ(figures.locks[0].lock, "mutex in want_log()");
  EXPECT_EQ(figures.locks[0].owner, "flusher 201");
  EXPECT_EQ(figures.threads.size(), 6u);
}

TEST(TopView, FiltersWhileOneTypes) {
  const Figures figures = golden_figures();
  View view;
  type(view, "/LOG", figures);
  EXPECT_EQ(names_of(figures, view), (std::vector<std::string>{"flush_log()", "want_log()"}));
  on_key(view, kKeyBackspace, figures);
  EXPECT_EQ(view.filter, "LO");
  on_key(view, kKeyEnter, figures);
  // Letters are keys again.
  EXPECT_EQ(on_key(view, 'q', figures), Action::kQuit);
  on_key(view, kKeyEscape, figures);
  EXPECT_EQ(names_of(figures, view).size(), 7u);
}

TEST(TopView, TracesTheFunctionOfTheChosenRow) {
  const Figures figures = golden_figures();
  View view;
  EXPECT_EQ(on_key(view, 't', figures), Action::kTrace);
  EXPECT_EQ(selected_function(figures, view), shown_functions(figures, view)[0].function);
  on_key(view, kKeyDown, figures);
  EXPECT_EQ(selected_function(figures, view), shown_functions(figures, view)[1].function);
  type(view, "/want_log", figures);
  on_key(view, kKeyEnter, figures);
  EXPECT_EQ(selected_function(figures, view), "want_log()");
  view.pane = Pane::kTree;
  EXPECT_EQ(selected_function(figures, view), "want_log()");
  view.pane = Pane::kThreads;
  EXPECT_EQ(selected_function(figures, view), "");
  view = {};
  view.filter = "no such function";
  EXPECT_EQ(selected_function(figures, view), "");
}

TEST(TopView, ShowsSlowCallsOfATracedFunctionOnly) {
  Figures figures = golden_figures();
  View view;
  on_key(view, '9', figures);
  EXPECT_FALSE(view.only_slow);
  EXPECT_NE(view.message.find("t traces"), std::string::npos);
  figures.latency.emplace();
  on_key(view, '9', figures);
  EXPECT_TRUE(view.only_slow);
  EXPECT_EQ(view.weight, profile::Weight::kWall);
  on_key(view, '9', figures);
  EXPECT_FALSE(view.only_slow);
}

TEST(TopView, SortsAndChangesPaneWindowAndWeight) {
  const Figures figures = golden_figures();
  View view;
  EXPECT_EQ(names_of(figures, view).front(), "pthread_mutex_lock");
  on_key(view, 's', figures);
  EXPECT_EQ(names_of(figures, view).front(), "start_thread");
  on_key(view, 's', figures);  // there is no change to sort by
  EXPECT_EQ(view.sort, Sort::kSelf);
  on_key(view, kKeyBackTab, figures);
  EXPECT_EQ(view.pane, Pane::kLocks);
  on_key(view, kKeyTab, figures);
  EXPECT_EQ(view.pane, Pane::kFunctions);
  on_key(view, '+', figures);
  EXPECT_EQ(view.seconds, 30u);
  for (int count = 0; count < 9; ++count) on_key(view, '-', figures);
  EXPECT_EQ(view.seconds, 1u);
  on_key(view, 'w', figures);
  EXPECT_EQ(view.weight, profile::Weight::kWall);
}

TEST(TopView, ClosesAndOpensTheTree) {
  const Figures figures = golden_figures();
  View view;
  view.pane = Pane::kTree;
  const std::size_t all = shown_tree(figures, view).size();
  ASSERT_GT(all, 4u);
  on_key(view, kKeyDown, figures);
  EXPECT_EQ(shown_tree(figures, view)[1].node->function, "run()");
  on_key(view, kKeyEnter, figures);
  EXPECT_TRUE(shown_tree(figures, view)[1].is_closed);
  EXPECT_EQ(shown_tree(figures, view).size(), 3u);  // start_thread, run(), flush_log()
  on_key(view, kKeyEnter, figures);
  EXPECT_EQ(shown_tree(figures, view).size(), all);
}

TEST(TopView, ComparesWithTheBaseline) {
  const Figures before = golden_figures(profile::Weight::kCpu);
  const Figures now = golden_figures(profile::Weight::kWall);
  View view;
  on_key(view, 'd', now);
  EXPECT_NE(view.message, "");
  EXPECT_FALSE(change_of(now.functions.functions[0], now, view));
  view.shows_difference = false;
  on_key(view, 'b', before);
  EXPECT_NEAR(*change_of(before.functions.functions[0], before, view), 0, 1e-9);
  // Waiting for the mutex has no CPU time.
  EXPECT_NEAR(*change_of(now.functions.functions[0], now, view), 0.58, 0.02);
  on_key(view, 's', now);
  on_key(view, 's', now);
  EXPECT_EQ(view.sort, Sort::kChange);
  EXPECT_EQ(names_of(now, view).front(), "pthread_mutex_lock");
  on_key(view, 'd', now);
  EXPECT_FALSE(change_of(now.functions.functions[0], now, view));
}

TEST(TopView, StaysWithinItsRows) {
  const Figures figures = golden_figures();
  View view;
  for (int count = 0; count < 5; ++count) on_key(view, kKeyPageDown, figures);
  EXPECT_EQ(view.selected[0], names_of(figures, view).size() - 1);
  for (int count = 0; count < 5; ++count) on_key(view, kKeyPageUp, figures);
  EXPECT_EQ(view.selected[0], 0u);
  on_key(view, kKeyUp, Figures());
  EXPECT_EQ(on_key(view, 'S', figures), Action::kSave);
}

}  // namespace
}  // namespace swipr::live
