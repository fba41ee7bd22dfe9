// Functions that tests trace. In a file of their own: the compiler must not know their callers.
#pragma once

#include <setjmp.h>

#include <array>

#include "tests/unit/preload/trace/machine.h"

namespace swipr::trace {

struct Large {
  std::array<long, 20> values;
};

[[gnu::noinline]] long add_nine(long a, long b, long c, long d, long e, long f, long g, long h,
                                long i);
[[gnu::noinline]] double add_doubles(int count, ...);
[[gnu::noinline]] long double twice(long double value);
SWIPR_VECTOR_TARGET Vector multiply(Vector a, Vector b);
[[gnu::noinline]] Large make_large(long seed);
[[gnu::noinline]] long recurse(long depth);
[[gnu::noinline]] long throw_sometimes(long value);  // if a multiple of three
[[gnu::noinline]] long call_throwing(long value);
[[gnu::noinline]] long rethrow(long value);
[[gnu::noinline]] void jump_out(jmp_buf& place, int depth);  // longjmp from `depth` calls below
[[gnu::noinline]] void sleep_a_while();                      // 20 ms
[[gnu::noinline]] long triple(long value);
// Calls `inside` with `state` from `depth` calls below.
[[gnu::noinline]] long call_inside(int depth, void (*inside)(void*), void* state);
// Each ends in a jump to the next; the last calls `inside`.
[[gnu::noinline]] long tail_first(void (*inside)(void*), void* state);
[[gnu::noinline]] long tail_second(void (*inside)(void*), void* state);

}  // namespace swipr::trace
