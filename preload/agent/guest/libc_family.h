// What glibc and musl have by different names. LD_PRELOAD applies to programs of both, and musl's
// loader terminates a program if it cannot find a symbol, so what only one of them has is weak.
// Source: musl, ldso/dynlink.c (do_relocs), src/thread/pthread_atfork.c, src/exit/at_quick_exit.c,
// src/env/__libc_start_main.c; glibc, nptl/pthread_atfork.c, stdlib/at_quick_exit.c.
// Context: while the library is loaded.
#pragma once

namespace swipr::agent {

bool is_musl() noexcept;
// Before anything else of swipr runs: what glibc has under names of its own.
void find_wrapped_functions() noexcept;

using Action = void();

void call_at_fork(Action* prepare, Action* in_parent, Action* in_child) noexcept;
void call_at_quick_exit(Action* action) noexcept;

}  // namespace swipr::agent
