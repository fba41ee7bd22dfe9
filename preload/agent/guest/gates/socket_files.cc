#include "preload/agent/guest/gates/socket_files.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/agent/base/futex.h"
#include "preload/agent/guest/gates/control_presence.h"

namespace swipr::agent::socket_files {

namespace {

using namespace std::chrono_literals;

constexpr auto kMaxWait = 50ms;  // making them takes 0.1 ms unless the file system hangs
constexpr auto kMaxWaitBeforeExec = 5ms;
constexpr auto kMaxWaitBeforeRightsGo = 1s;
constexpr std::size_t kMaxPathBytes = 108;  // sizeof sun_path: longer ones cannot be bound
constexpr int kMaxFiles = 2;

enum Files : std::uint32_t { kNone, kMaking, kMade, kLeft, kCancelled };
std::atomic<std::uint32_t> files{kNone};
std::atomic<bool> removed_for_good{false};
std::atomic<bool> wanted_again{false};
char paths[kMaxFiles][kMaxPathBytes];
std::atomic<int> path_count{0};

bool move_on(std::uint32_t from, std::uint32_t to) noexcept {
  return files.compare_exchange_strong(from, to);
}

}  // namespace

bool begin() noexcept { return move_on(kNone, kMaking); }

void end() noexcept {
  files.store(kMade);
  futex_wake_all(files);
}

// remove_for_good sets its flag before it reads the state, this sets the state before it reads the
// flag (both sequentially consistent).
bool begin_again() noexcept {
  if (!move_on(kMade, kMaking) && !move_on(kNone, kMaking)) return false;
  if (!removed_for_good.load()) {
    path_count.store(0);
    return true;
  }
  end();
  return false;
}

void add(std::string_view path) noexcept {
  const int index = path_count.load();
  if (index == kMaxFiles || path.empty() || path.size() >= kMaxPathBytes) return;
  std::memcpy(paths[index], path.data(), path.size());
  paths[index][path.size()] = '\0';
  path_count.store(index + 1);
}

void await() noexcept {
  wait_for_change(files, kNone, kMaxWaitBeforeRightsGo);
  wait_for_change(files, kMaking, kMaxWaitBeforeRightsGo);
}

bool take_wish() noexcept { return wanted_again.exchange(false); }

bool unlink_all() noexcept {
  bool found = true;
  const int count = path_count.load();
  for (int i = 0; i < count; ++i) {
    if (::unlink(paths[i]) != 0) found = false;
  }
  return found;
}

bool remove_for_good() noexcept {
  removed_for_good.store(true);
  if (move_on(kNone, kCancelled)) return true;
  wait_for_change(files, kMaking, kMaxWait);
  return files.load() == kLeft || unlink_all();
}

void leave() noexcept {
  if (!control_presence::is_owner()) return;
  if (move_on(kNone, kLeft)) return;
  wait_for_change(files, kMaking, kMaxWaitBeforeExec);
  if (move_on(kMade, kLeft)) unlink_all();
}

void return_after_exec() noexcept {
  if (!control_presence::is_owner() || !move_on(kLeft, kNone)) return;
  wanted_again.store(true);
  control_presence::wake();
}

void forget() noexcept {
  files.store(kNone);
  path_count.store(0);
}

void reset() noexcept {
  forget();
  removed_for_good.store(false);
  wanted_again.store(false);
}

}  // namespace swipr::agent::socket_files
