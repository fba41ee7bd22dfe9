#include "cli/live/screen.h"

#include <gtest/gtest.h>

#include "tests/golden/workers_recording.h"

namespace swipr::live {
namespace {

using namespace std::chrono_literals;

Figures screen_figures() {
  golden::Golden input = golden::make_workers();
  Figures figures = make_figures(input.recording, input.names, profile::Weight::kWall,
                                 [](profile::State, std::uint32_t) { return std::string(); });
  figures.title = "workers 200";
  figures.covered = 2s;
  figures.cpu_per_second = {1s, 4s};
  return figures;
}

std::string drawn(std::size_t columns, std::size_t rows, const View& view, bool utf8 = true) {
  Canvas canvas(columns, rows, utf8);
  draw(canvas, screen_figures(), view);
  return canvas.plain();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(TopScreen, ShowsAllPanesWhereThereIsRoom) {
  const std::string text = drawn(120, 40, View());
  EXPECT_TRUE(has(text, "workers 200  10 s  CPU 2.51")) << text;
  EXPECT_TRUE(has(text, "   58.3     58.3  pthread_mutex_lock")) << text;
  EXPECT_TRUE(has(text, "100.0  ▾ start_thread")) << text;
  EXPECT_TRUE(has(text, "flusher 201")) << text;
  EXPECT_TRUE(has(text, "mutex in want_log(): flusher 201")) << text;
}

TEST(TopScreen, NamesDeadlocks) {
  Figures figures = screen_figures();
  figures.deadlocks = {
      {{{2, "pool 211", "mutex in want_log()"}, {3, "pool 212", "monitor Job"}}, 3s}};
  View view;
  view.pane = Pane::kLocks;
  Canvas canvas(100, 24, true);
  draw(canvas, figures, view);
  const std::string text = canvas.plain();
  EXPECT_TRUE(has(text, "deadlock: pool 211 waits for the mutex in want_log(), held by pool 2"))
      << text;
  EXPECT_TRUE(has(text, " 3.00 s  deadlock: pool 211 waits for pool 212, mutex in want_log()"))
      << text;
  EXPECT_TRUE(has(text, " 3.00 s  deadlock: pool 212 waits for pool 211, monitor Job")) << text;
  EXPECT_TRUE(has(text, "mutex in want_log(): flusher 201")) << text;
}

TEST(TopScreen, HasALineOfTheTracedFunction) {
  Figures figures = screen_figures();
  figures.latency = Latency{"handle()", "", 12'345.4, 812us, 4100us, {1, 8, 4, 0}};
  View view;
  const auto line = [&](std::size_t columns, bool utf8 = true) {
    Canvas canvas(columns, 24, utf8);
    draw(canvas, figures, view);
    const std::string text = canvas.plain();
    EXPECT_TRUE(has(text, "FUNCTION (by self)")) << text;
    const std::size_t begin = text.find("CALLS  ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line(80), "CALLS  handle()  12345/s  p50 812 us  p95 4.1 ms  ▁█▄▁");
  EXPECT_EQ(line(120, false), "CALLS  handle()  12345/s  p50 812 us  p95 4.1 ms  _#-_");
  view.only_slow = true;
  Canvas small(80, 24, true);
  draw(small, figures, view);
  EXPECT_TRUE(has(small.plain(), "by wall time  ONLY CALLS ABOVE P95")) << small.plain();
  figures.latency = Latency{"handle()", "is not traced, because it is too short", 0, {}, {}, {}};
  EXPECT_TRUE(has(line(80), "CALLS  handle()  is not traced, because it is too short"));
}

TEST(TopScreen, ShowsOnePaneOnASmallTerminal) {
  View view;
  EXPECT_TRUE(has(drawn(80, 24, view), "FUNCTION (by self)"));
  EXPECT_FALSE(has(drawn(80, 24, view), "CALL TREE"));
  view.pane = Pane::kLocks;
  EXPECT_TRUE(has(drawn(80, 24, view), "mutex in want_log(): flusher 201"));
  for (std::size_t size = 0; size < 8; ++size) drawn(size, size, view);
}

TEST(TopScreen, NeedsNoUtf8) {
  const std::string text = drawn(120, 40, View(), false);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  })) << text;
  EXPECT_TRUE(has(text, "- start_thread"));
}

TEST(TopScreen, MarksTheChosenRow) {
  View view;
  view.selected[0] = 1;
  Canvas canvas(80, 24, true);
  draw(canvas, screen_figures(), view);
  EXPECT_EQ(canvas.row(3)[0].style, Style::kNormal);
  EXPECT_EQ(canvas.row(4)[0].style, Style::kSelected);
}

TEST(TopCanvas, KeepsTextOfStrangersInItsPlace) {
  Canvas canvas(10, 1, true);
  EXPECT_EQ(canvas.put(0, 0, "a\x1b[2J\xff", 10), 6u);
  EXPECT_EQ(canvas.plain(), "a?[2J?\n");
  Canvas wide(5, 1, true);
  EXPECT_LE(wide.put(0, 0, "日本語", 5), 5u);
  Canvas cut(10, 1, true);
  EXPECT_EQ(cut.put(0, 8, "long", 10), 10u);
  EXPECT_EQ(cut.put(3, 0, "outside", 10), 0u);
}

}  // namespace
}  // namespace swipr::live
