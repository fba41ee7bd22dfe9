// LD_PRELOAD reaches programs that are linked with musl as well, whose loader ends a program for
// each symbol that it does not find. What only glibc has is declared weak, and where it is missing
// swipr does nothing at all.
// Source: musl, ldso/dynlink.c (do_relocs); glibc, nptl/pthread_atfork.c, stdlib/at_quick_exit.c.
#pragma once

// What pthread_atfork and at_quick_exit are in glibc: both are linked in statically.
extern "C" [[gnu::weak]] int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                               void* library) noexcept;
extern "C" [[gnu::weak]] int __cxa_at_quick_exit(void (*function)(void*), void* library) noexcept;
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace swipr::agent {

inline bool is_glibc() noexcept { return &::__register_atfork != nullptr; }

}  // namespace swipr::agent
