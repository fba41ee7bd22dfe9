// The system's libunwind, loaded on request of a recording, with RTLD_LOCAL, because Debian's
// exports _Unwind_*, which would replace those of the program.
//
// This code does not follow the rules for code in other programs: dlopen takes the loader's lock
// and uses the program's malloc, libunwind takes locks and changes signal masks. All of it runs in
// the control thread, none in a signal handler.
// Context: control thread.
#pragma once

#include <atomic>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/libunwind/abi.h"

namespace swipr::agent::libunwind {

// While one exists the control thread runs libunwind or the loader: in a child that is forked at
// such a moment their locks may stay held.
class AtWork {
 public:
  AtWork() noexcept;
  ~AtWork() { worker.store(0); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // If true when the control thread does not run libunwind: the parent's did when this process was
  // forked.
  static bool was_interrupted_by_fork() noexcept { return worker.load() != 0; }
  // Context: any thread.
  static bool is_of_this_thread() noexcept;

 private:
  static constinit std::atomic<int> worker;  // the thread; 0: none
};

// libunwind protects its locks by sigprocmask, and libc's function removes the signal that wakes
// the control thread from every mask (control_presence.cc): that signal would be unblocked
// afterwards, and the next one would end the process. If libunwind calls swipr's wrapper, it does
// nothing meanwhile: all signals are blocked in the control thread anyway. False: the wrapper would
// not be called.
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

// False: `why` states what is missing. It is never unloaded.
bool load_library(Library& out, TextWriter& why) noexcept;
// The same of another file: for tests.
bool load_library_from(const char* file, Library& out, TextWriter& why) noexcept;

}  // namespace swipr::agent::libunwind
