// LD_PRELOAD also applies to programs that are linked with musl, whose loader terminates a program
// if it cannot find a symbol. Symbols that only glibc has are declared weak; if they are missing,
// swipr does nothing.
// Source: musl, ldso/dynlink.c (do_relocs); glibc, nptl/pthread_atfork.c, stdlib/at_quick_exit.c.
#pragma once

// The functions behind glibc's pthread_atfork and at_quick_exit, which are linked statically.
extern "C" [[gnu::weak]] int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                               void* library) noexcept;
extern "C" [[gnu::weak]] int __cxa_at_quick_exit(void (*function)(void*), void* library) noexcept;
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace swipr::agent {

inline bool is_glibc() noexcept { return &::__register_atfork != nullptr; }

}  // namespace swipr::agent
