#include "preload/labels/thread_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace swipr::labels {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Texts = std::map<std::string, std::string>;

Texts texts_of(const LabelSet& set) {
  Texts texts;
  for (std::uint32_t at = 0; at < set.count; ++at) {
    const auto [place, is_new] =
        texts.emplace(set.labels[at].key(), std::string(set.labels[at].value()));
    EXPECT_TRUE(is_new) << "each key once: " << place->first;
  }
  return texts;
}
Texts own() {
  LabelSet set;
  copy_own_labels(set);
  return texts_of(set);
}
Tid own_tid() { return Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))}; }

class ThreadLabels : public testing::Test {
 protected:
  ThreadLabels() { set_owner(::getpid()); }
};

// Each in a thread of its own, which has no labels yet.
template <typename Work>
void in_thread(Work work) {
  std::thread(work).join();
}

TEST_F(ThreadLabels, AreSetReplacedAndRemoved) {
  in_thread([] {
    EXPECT_THAT(own(), IsEmpty());
    errno = 7;
    EXPECT_TRUE(set_label("b", "1"));
    EXPECT_EQ(errno, 7);
    EXPECT_TRUE(set_label("a", "2"));
    EXPECT_TRUE(set_label("b", "33"));
    EXPECT_THAT(own(), ElementsAre(Pair("a", "2"), Pair("b", "33")));
    EXPECT_TRUE(set_label("b", ""));
    EXPECT_TRUE(set_label("not there", ""));
    EXPECT_THAT(own(), ElementsAre(Pair("a", "2")));
  });
}

TEST_F(ThreadLabels, HaveBoundsThatAreCounted) {
  in_thread([] {
    const std::uint64_t lost = lost_count();
    for (char key = 'a'; key < 'a' + 8; ++key) EXPECT_TRUE(set_label({&key, 1}, "x"));
    EXPECT_FALSE(set_label("i", "x"));
    EXPECT_TRUE(set_label("a", "y")) << "it has this key already";
    EXPECT_FALSE(set_label("", "x"));
    EXPECT_FALSE(set_label(std::string(kMostKeyBytes + 1, 'k'), "x"));
    EXPECT_EQ(lost_count(), lost + 3);
    EXPECT_EQ(own().size(), 8u);
    const std::uint64_t cut = cut_count();
    EXPECT_TRUE(set_label("a", std::string(124, 'v') + "\u00e4")) << "one byte too long";
    EXPECT_TRUE(set_label("b", std::string(125, 'v')));
    EXPECT_EQ(cut_count(), cut + 1);
    EXPECT_EQ(own()["a"], std::string(124, 'v')) << "not half a character";
    EXPECT_EQ(own()["b"].size(), 125u);
  });
}

TEST_F(ThreadLabels, ScopesRestoreWhatWasThere) {
  in_thread([] {
    Label outer{}, inner{}, failed{};
    set_label("a", "1");
    EXPECT_TRUE(begin_scope(outer, "a", "2"));
    EXPECT_TRUE(begin_scope(inner, "b", "3"));
    EXPECT_FALSE(begin_scope(failed, "", "4"));
    EXPECT_THAT(own(), ElementsAre(Pair("a", "2"), Pair("b", "3")));
    end_scope(failed);
    end_scope(inner);
    EXPECT_THAT(own(), ElementsAre(Pair("a", "2")));
    end_scope(outer);
    EXPECT_THAT(own(), ElementsAre(Pair("a", "1")));
  });
}

TEST_F(ThreadLabels, AreFoundByTidAndGoneWithTheThread) {
  in_thread([] {
    EXPECT_EQ(find_place(own_tid(), 0).number, kMostThreads) << "it has none";
    set_label("a", "1");
    const LabelPlace place = find_place(own_tid(), 12345);
    ASSERT_LT(place.number, kMostThreads);
    EXPECT_EQ(find_place(own_tid(), place.number).number, place.number);
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(place.pointer), place.value);
    EXPECT_EQ(place.thread_pointer, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    LabelSet set;
    copy_labels(place.number, set);
    EXPECT_THAT(texts_of(set), ElementsAre(Pair("a", "1")));
    in_thread([] { EXPECT_THAT(own(), IsEmpty()); });
  });
}

TEST_F(ThreadLabels, PlacesOfEndedThreadsAreUsedAgain) {
  std::uint32_t highest = 0;
  for (int round = 0; round < 200; ++round) {
    in_thread([&highest] {
      set_label("a", "1");
      EXPECT_EQ(own().size(), 1u) << "nothing of the thread before";
      highest = std::max(highest, find_place(own_tid(), 0).number);
    });
  }
  EXPECT_LT(highest, 20u);
}

TEST_F(ThreadLabels, LiveThreadsHavePlacesOfTheirOwn) {
  constexpr int kThreads = 64;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  std::vector<std::uint32_t> numbers(kThreads);
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      set_label("index", std::to_string(index));
      numbers[static_cast<std::size_t>(index)] = find_place(own_tid(), 0).number;
      for (++ready; ready.load() != kThreads;) std::this_thread::yield();
      EXPECT_EQ(own()["index"], std::to_string(index));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

TEST_F(ThreadLabels, AProcessThatIsConfinedGivesNoPlaces) {
  set_owner(0);
  in_thread([] {
    EXPECT_FALSE(set_label("a", "1"));
    EXPECT_THAT(own(), IsEmpty());
  });
}

TEST_F(ThreadLabels, AChildKeepsThoseOfTheThreadThatForked) {
  in_thread([] {
    set_label("a", "1");
    const pid_t parent_tid = own_tid().value;
    const pid_t child = ::fork();
    if (child == 0) {
      set_owner(::getpid());
      const bool right = own()["a"] == "1" && find_place(own_tid(), 0).number != kMostThreads &&
                         find_place(Tid{parent_tid}, 0).number == kMostThreads;
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  });
}

// --- signal handlers

std::atomic<std::uint64_t> torn{0};
std::atomic<std::uint64_t> handled{0};

// The key, and then one character again and again.
std::size_t write_value(char (&value)[100], char key, std::uint64_t seed) {
  const std::size_t size = 2 + (seed >> 33) % (sizeof value - 2);
  value[0] = key;
  std::fill_n(value + 1, size - 1, static_cast<char>('0' + (seed >> 50) % 10));
  return size;
}
bool is_whole(std::string_view key, std::string_view value) {
  return key.size() == 1 && value.size() > 1 && value[0] == key[0] &&
         value.find_first_not_of(value[1], 1) == value.npos;
}

// As swipr's handler: reads at any moment; and as the program's: sets labels.
void on_signal(int) {
  LabelSet set;
  copy_own_labels(set);
  for (std::uint32_t at = 0; at < set.count; ++at) {
    if (!is_whole(set.labels[at].key(), set.labels[at].value())) ++torn;
  }
  const std::uint64_t number = handled.fetch_add(1);
  char value[100];
  set_label("a", {value, write_value(value, 'a', number * 6364136223846793005u)});
  set_label("h", number % 2 == 0 ? "h11111" : "");
}

TEST_F(ThreadLabels, AreWholeAtAnyMoment) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = on_signal;
  ::sigaction(SIGUSR1, &action, &before);
  std::atomic<std::int32_t> tid{0};
  std::atomic<bool> stop{false};
  std::thread setter([&tid, &stop] {
    set_label("b", "b0");
    tid = own_tid().value;
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) {
      seed = seed * 6364136223846793005u + 1;
      const char key = static_cast<char>('a' + (seed >> 60) % 4);
      char value[100];
      Label scope;
      begin_scope(scope, {&key, 1}, {value, write_value(value, key, seed)});
      if (seed >> 63 == 0) end_scope(scope);
    }
  });
  while (tid.load() == 0) std::this_thread::yield();
  const std::uint64_t wanted = handled.load() + 2'000;
  while (handled.load() < wanted) {
    ::syscall(SYS_tgkill, ::getpid(), tid.load(), SIGUSR1);
    std::this_thread::yield();
  }
  stop = true;
  setter.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(torn.load(), 0u);
}

}  // namespace
}  // namespace swipr::labels
