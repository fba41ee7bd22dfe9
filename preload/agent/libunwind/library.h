// The system's libunwind, loaded when a recording wants it: into a scope of its own, because
// Debian's exports _Unwind_*, which would replace those of the program.
//
// Nothing here obeys the rules of a guest: dlopen takes the loader's lock and allocates by the
// program's malloc, libunwind takes locks of its own and changes signal masks. All of it happens in
// the control thread, none in a signal handler.
// Context: control thread.
#pragma once

#include <atomic>

#include "preload/agent/base/fixed_text.h"
#include "preload/agent/libunwind/abi.h"

namespace swipr::agent::libunwind {

// While one exists the control thread is inside of libunwind or the loader: who is born of a fork
// at such a moment may find their locks held for ever.
class AtWork {
 public:
  AtWork() noexcept;
  ~AtWork() { worker.store(0); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // Asked by the control thread when it is not: then its parent's was when this process was forked.
  static bool was_interrupted_by_fork() noexcept { return worker.load() != 0; }
  // Context: any thread.
  static bool is_of_this_thread() noexcept;

 private:
  static constinit std::atomic<int> worker;  // the thread; 0: none
};

// libunwind protects its locks by sigprocmask, and libc's leaves out the signal that wakes the
// control thread (control_presence.cc): what was blocked before would be open afterwards, and the
// next such signal ends the process. Where libunwind calls swipr's wrapper, that changes nothing
// while at work: all signals are blocked in the control thread anyway. False: it would not be
// called.
bool keeps_mask() noexcept;

struct Library {
  AddressSpace* (*create_addr_space)(Accessors*, int byte_order) = nullptr;
  int (*set_caching_policy)(AddressSpace*, int policy) = nullptr;
  void (*flush_cache)(AddressSpace*, Word low, Word high) = nullptr;
  int (*init_remote)(Cursor*, AddressSpace*, void* argument) = nullptr;
  int (*step)(Cursor*) = nullptr;
  int (*get_reg)(Cursor*, int number, Word*) = nullptr;
  int (*is_signal_frame)(Cursor*) = nullptr;
  int (*search_table)(AddressSpace*, Word ip, TableInfo*, ProcedureInfo*, int need_unwind_info,
                      void* argument) = nullptr;
};

// False: `why` says what is missing. It is never unloaded.
bool load_library(Library& out, TextWriter& why) noexcept;
// The same of another file: for tests.
bool load_library_from(const char* file, Library& out, TextWriter& why) noexcept;

}  // namespace swipr::agent::libunwind
