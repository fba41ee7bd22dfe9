#include "cli/profile/tables/lock_cycles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/profile/tables/lock_waits.h"

namespace swipr::profile {

namespace {

using std::chrono::nanoseconds;

// All threads of a cycle have slept for so long together that each of them was checked at least
// twice meanwhile. Ticks may have skipped sleeping threads, but check them at least once a second.
nanoseconds shortest_sleep(const Process& process) {
  constexpr int kTicks = 2;
  constexpr std::chrono::seconds kSkipping{2};
  const auto skipped = process.totals.find("ticks_stretched");
  const bool skips = skipped != process.totals.end() && skipped->second != 0;
  return std::max<nanoseconds>(kTicks * process.interval, skips ? kSkipping : nanoseconds(1));
}

// Threads that wait for the GIL or a monitor wake again and again: nothing can be proven of them.
bool waits_for_lock(const Stack& stack) {
  return is_library_lock(stack.runtime_wait) && stack.holder.value != 0;
}

// Who waits for whom; each thread waits for one lock at most.
struct Edge {
  std::uint32_t next = kNone;  // thread that holds the lock; kNone: the thread waits for none
  std::string lock;
};

// The threads of the cycle that `start` leads to, from its lowest number on; empty: it leads to
// none. `seen_from`, by thread: the start that has come by; kNone: none has.
std::vector<std::uint32_t> follow(const std::vector<Edge>& edges, std::uint32_t start,
                                  std::vector<std::uint32_t>& seen_from) {
  std::uint32_t at = start;
  while (at != kNone && seen_from[at] == kNone) {
    seen_from[at] = start;
    at = edges[at].next;
  }
  if (at == kNone || seen_from[at] != start) return {};
  std::vector<std::uint32_t> cycle;
  std::uint32_t member = at;
  do {
    cycle.push_back(member);
    member = edges[member].next;
  } while (member != at);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

void LastWaits::add(const Recording& recording, std::span<const Sample> samples) {
  waits_.resize(recording.threads.size());
  for (const Sample& sample : samples) add(recording, sample);
}

// A sample without CPU time continues what the one before it ended with: the thread has slept all
// the time. Of another one it is not known when the thread fell asleep. Samples of --mode offcpu
// have no CPU time, but gaps where the thread ran.
void LastWaits::add(const Recording& recording, const Sample& sample) {
  Wait& wait = waits_[sample.thread];
  const bool follows = wait.is_known && sample.begin() <= wait.end;
  const Mode mode = recording.processes[recording.threads[sample.thread].process].mode;
  const bool slept =
      sample.cpu - sample.credited == nanoseconds(0) && (follows || mode == Mode::kWall);
  const bool waits = sample.state == State::kBlocked && sample.stack != kNone &&
                     waits_for_lock(recording.stacks[sample.stack]);
  // A thread that has slept waits for the same lock as before.
  const bool continues =
      waits && slept && follows && wait.stack != kNone &&
      recording.stacks[wait.stack].holder == recording.stacks[sample.stack].holder;
  if (!continues) {
    wait.begin = sample.begin();
    wait.asleep_at = slept ? sample.begin() : sample.time;
  }
  wait.stack = waits ? sample.stack : kNone;
  wait.end = sample.time;
  wait.is_known = true;
}

std::vector<LockCycle> LastWaits::find_cycles(const Recording& recording,
                                              const Names& names) const {
  std::vector<LockCycle> cycles;
  if (std::none_of(waits_.begin(), waits_.end(),
                   [](const Wait& wait) { return wait.stack != kNone; })) {
    return cycles;
  }
  std::map<std::pair<std::uint32_t, Tid>, std::uint32_t> threads;  // by process and tid
  for (std::uint32_t thread = 0; thread < waits_.size(); ++thread) {
    threads[{recording.threads[thread].process, recording.threads[thread].tid}] = thread;
  }
  std::vector<Edge> edges(waits_.size());
  for (std::uint32_t thread = 0; thread < waits_.size(); ++thread) {
    if (waits_[thread].stack == kNone) continue;
    const auto wait = find_lock_wait(recording, names, waits_[thread].stack);
    if (!wait || wait->ends_in_time) continue;
    const std::uint32_t process = recording.threads[thread].process;
    const auto holder = threads.find({process, wait->holder});
    if (holder == threads.end()) continue;
    LockPlaces place;
    place.add(process, recording.stacks[waits_[thread].stack]);
    edges[thread] = {holder->second, wait->text(place.locks(names))};
  }
  std::vector<std::uint32_t> seen_from(waits_.size(), kNone);
  for (std::uint32_t start = 0; start < waits_.size(); ++start) {
    const std::vector<std::uint32_t> members = follow(edges, start, seen_from);
    if (members.size() < 2) continue;
    nanoseconds begin = nanoseconds::min();
    nanoseconds asleep_at = nanoseconds::min();
    nanoseconds end = nanoseconds::max();
    LockCycle cycle;
    for (const std::uint32_t member : members) {
      begin = std::max(begin, waits_[member].begin);
      asleep_at = std::max(asleep_at, waits_[member].asleep_at);
      end = std::min(end, waits_[member].end);
      const Thread& thread = recording.threads[member];
      cycle.waits.push_back(
          {member, thread.name + " " + std::to_string(thread.tid.value), edges[member].lock});
    }
    const Process& process = recording.processes[recording.threads[members.front()].process];
    if (end - asleep_at < shortest_sleep(process)) continue;
    cycle.waited = end - begin;
    cycles.push_back(std::move(cycle));
  }
  std::stable_sort(cycles.begin(), cycles.end(),
                   [](const LockCycle& a, const LockCycle& b) { return a.waited > b.waited; });
  return cycles;
}

std::vector<LockCycle> lock_cycles(const Recording& recording, const Names& names) {
  LastWaits waits;
  waits.add(recording, recording.samples);
  return waits.find_cycles(recording, names);
}

std::string describe(const LockCycle& cycle) {
  std::string text = cycle.waits.front().name;
  for (std::size_t at = 0; at < cycle.waits.size(); ++at) {
    const LockCycle::Wait& holder = cycle.waits[(at + 1) % cycle.waits.size()];
    text.append(at == 0 ? " waits for the " : ", which waits for the ")
        .append(cycle.waits[at].lock)
        .append(", held by ")
        .append(holder.name);
  }
  return text;
}

}  // namespace swipr::profile
