// What differs between the C libraries of architectures.
// Context: anywhere.
#pragma once

#if defined(__x86_64__)
#define SWIPR_FIRST_GLIBC "GLIBC_2.2.5"  // the version of functions that were always there
#elif defined(__aarch64__)
#define SWIPR_FIRST_GLIBC "GLIBC_2.17"
#endif

namespace swipr::machine {

#if defined(__x86_64__)
inline constexpr int kStatVersion = 1;  // _STAT_VER
#elif defined(__aarch64__)
inline constexpr int kStatVersion = 0;
#endif

}  // namespace swipr::machine
