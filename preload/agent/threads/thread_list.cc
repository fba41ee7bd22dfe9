#include "preload/agent/threads/thread_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/directory_names.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/proc/thread_clock.h"

namespace swipr::agent {

namespace {

Tid parse_tid(const char* name) noexcept {
  std::int32_t value = 0;
  for (; *name >= '0' && *name <= '9'; ++name) value = value * 10 + (*name - '0');
  return Tid{*name == '\0' ? value : 0};
}

std::uint32_t hash(Tid tid) noexcept {
  return static_cast<std::uint32_t>(tid.value) * 0x9E3779B1u >> 7;
}

}  // namespace

bool ThreadList::open(Tid control_thread) noexcept {
  control_thread_ = control_thread;
  directory_ = open_below_proc("/proc/self/task", O_RDONLY | O_DIRECTORY);
  if (directory_ < 0) return false;
  links_tell_count_ = true;
  if (!index_.resize(1024) || !refresh([](std::uint32_t) noexcept {})) {
    close();
    return false;
  }
  // These have their names already, and reading them all at the first ticks would cost 6 µs each.
  for (Thread& thread : threads_) thread.looks.name_looks_left = 0;
  // Emulations of the kernel may not provide it: then threads are listed at every tick.
  links_tell_count_ = !count_changed();
  return true;
}

void ThreadList::close() noexcept {
  if (directory_ >= 0) ::close(directory_);
  directory_ = -1;
  live_count_ = 0;
  threads_.release();
  free_places_.release();
  new_tids_.release();
  index_.release();
}

// Source: kernel, fs/proc/base.c, proc_task_getattr: 2 + number of threads.
bool ThreadList::count_changed() noexcept {
  constexpr std::uint64_t kNotListed = 2 + 1;  // and the control thread
  struct stat status {};
  if (!links_tell_count_ || libc::fstat(directory_, &status) != 0) return true;
  return status.st_nlink != live_count_ + kNotListed;
}

bool ThreadList::list() noexcept {
  ++listing_;
  new_tids_.clear();
  bool has_memory = true;
  const bool read = for_each_name<16384>(directory_, [&](const char* name) noexcept {
    const Tid tid = parse_tid(name);
    if (tid.value == 0 || tid == control_thread_) return true;
    const std::uint32_t found = index_entry(tid);
    if (found != 0) {
      threads_[found - 1].listing = listing_;
    } else {
      has_memory = new_tids_.push_back(tid);
    }
    return has_memory;
  });
  return read && has_memory;
}

// If a thread ends while it is being listed, the kernel ends the listing there, and its
// continuation skips as many threads as have ended. Source: kernel, fs/proc/base.c, next_tid and
// first_tid.
bool ThreadList::was_listed(Thread& thread) noexcept {
  if (thread.listing != listing_ && read_thread_clock(thread.tid)) thread.listing = listing_;
  return thread.listing == listing_;
}

bool ThreadList::settle(bool any_gone) noexcept {
  const std::uint32_t before = place_count();
  for (Tid tid : new_tids_) {
    if (!add(tid)) return false;
  }
  if (!any_gone) return true;
  for (std::uint32_t place = 0; place < before; ++place) {
    Thread& thread = threads_[place];
    if (thread.tid.value == 0 || thread.listing == listing_) continue;
    thread.tid = Tid{};
    --live_count_;
    if (!free_places_.push_back(place)) return false;
  }
  return rebuild_index();
}

bool ThreadList::add(Tid tid) noexcept {
  std::uint32_t place = place_count();
  if (!free_places_.empty()) {
    place = free_places_[free_places_.size() - 1];
    if (!free_places_.resize(free_places_.size() - 1)) return false;
  } else if (!threads_.resize(threads_.size() + 1)) {
    return false;
  }
  const std::uint32_t generation = threads_[place].generation + 1;
  threads_[place] = Thread{};
  threads_[place].tid = tid;
  threads_[place].generation = generation;
  threads_[place].listing = listing_;
  ++live_count_;
  refresh_name(place);
  if (index_.size() < 2 * threads_.size()) return rebuild_index();
  index_entry(tid) = place + 1;
  return true;
}

bool ThreadList::rebuild_index() noexcept {
  std::size_t size = index_.size();
  while (size < 4 * threads_.size()) size *= 2;
  if (!index_.resize(size)) return false;
  std::memset(index_.data(), 0, index_.size() * sizeof(index_[0]));
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    if (threads_[place].tid.value != 0) index_entry(threads_[place].tid) = place + 1;
  }
  return true;
}

// The entry of `tid`, or the free one where it belongs.
std::uint32_t& ThreadList::index_entry(Tid tid) noexcept {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = hash(tid) & mask;
  while (index_[at] != 0 && threads_[index_[at] - 1].tid != tid) at = (at + 1) & mask;
  return index_[at];
}

bool ThreadList::refresh_name(std::uint32_t place) noexcept {
  Thread& thread = threads_[place];
  char buffer[32];
  std::string_view text = read_task_file(directory_, thread.tid, "comm", buffer);
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  text = leading(text, sizeof(thread.name) - 1);
  if (text.empty() || text == thread.name_text()) return false;
  std::memset(thread.name, 0, sizeof(thread.name));
  std::memcpy(thread.name, text.data(), text.size());
  ++thread.name_version;
  return true;
}

}  // namespace swipr::agent
