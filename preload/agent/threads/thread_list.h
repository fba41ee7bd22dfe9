// The threads of the process as of the last listing of /proc/self/task, each at an index (place)
// that stays the same while it lives. The control thread is not among them.
// Context: control thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "common/core/ids.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/threads/thread.h"

namespace swipr::agent {

class ThreadList {
 public:
  // False: no /proc/self/task.
  bool open(Tid control_thread) noexcept;
  // Frees memory and descriptor.
  void close() noexcept;
  int directory() const noexcept { return directory_; }

  // Cheap. False: there are as many threads as are listed. If one ended while another started, the
  // clock of the first cannot be read.
  bool count_changed() noexcept;
  // Lists all. Calls `on_gone(place)` for each thread that ended, before its entry is freed; its
  // place is not reused before the next refresh. False: no memory, some threads are missing.
  template <typename OnGone>
  bool refresh(OnGone&& on_gone) noexcept {
    if (!list()) return false;
    bool any_gone = false;
    for (std::uint32_t place = 0; place < threads_.size(); ++place) {
      if (threads_[place].tid.value == 0 || was_listed(threads_[place])) continue;
      on_gone(place);
      any_gone = true;
    }
    return settle(any_gone);
  }
  // Reads the thread's name again; true: it has changed.
  bool refresh_name(std::uint32_t place) noexcept;

  // Places run from 0 to place_count(); free ones have tid 0.
  std::uint32_t place_count() const noexcept { return static_cast<std::uint32_t>(threads_.size()); }
  std::uint32_t live_count() const noexcept { return live_count_; }
  bool contains(Tid tid) noexcept { return live_count_ != 0 && index_entry(tid) != 0; }
  Thread& operator[](std::uint32_t place) noexcept { return threads_[place]; }

 private:
  bool list() noexcept;
  bool was_listed(Thread& thread) noexcept;
  bool settle(bool any_gone) noexcept;
  bool add(Tid tid) noexcept;
  bool rebuild_index() noexcept;
  std::uint32_t& index_entry(Tid tid) noexcept;

  int directory_ = -1;
  Tid control_thread_{};
  std::uint32_t listing_ = 0;
  std::uint32_t live_count_ = 0;
  bool links_tell_count_ = false;
  MappedArray<Thread> threads_;
  MappedArray<std::uint32_t> free_places_;
  MappedArray<Tid> new_tids_;
  MappedArray<std::uint32_t> index_;  // open addressing, place + 1, power of two
};

}  // namespace swipr::agent
