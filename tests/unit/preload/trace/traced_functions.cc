#include "tests/unit/preload/trace/traced_functions.h"

#include <chrono>
#include <cstdarg>
#include <memory>
#include <stdexcept>
#include <thread>

namespace swipr::trace {

long add_nine(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
double add_doubles(int count, ...) {
  std::va_list list;
  va_start(list, count);
  double sum = 0;
  for (int index = 0; index < count; ++index) sum += va_arg(list, double);
  va_end(list);
  return sum;
}
long double twice(long double value) { return value * 2; }
SWIPR_VECTOR_TARGET Vector multiply(Vector a, Vector b) { return product_of(a, b); }
Large make_large(long seed) {
  Large large{};
  for (std::size_t index = 0; index < large.values.size(); ++index) {
    large.values[index] = seed + static_cast<long>(index);
  }
  return large;
}
long recurse(long depth) {
  if (depth == 0) return 0;
  const long below = recurse(depth - 1);
  asm volatile("");
  return below + 1;
}
long throw_sometimes(long value) {
  if (value % 3 == 0) throw std::runtime_error("three");
  return value;
}
long call_throwing(long value) {
  const auto owned = std::make_unique<long>(value);
  asm volatile("" : : "r"(owned.get()) : "memory");
  return throw_sometimes(*owned) + 1;
}
long rethrow(long value) {
  try {
    return call_throwing(value) + 1;
  } catch (const std::runtime_error&) {
    throw;
  }
}
void jump_out(jmp_buf& place, int depth) {
  static void (*volatile leave)(jmp_buf, int) = &longjmp;
  if (depth == 0) {
    leave(place, 1);
    return;
  }
  jump_out(place, depth - 1);
  asm volatile("");
}
void sleep_a_while() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
long triple(long value) {
  asm volatile("");
  return value * 3;
}
long call_inside(int depth, void (*inside)(void*), void* state) {
  if (depth == 0) {
    inside(state);
    return 1;
  }
  const long below = call_inside(depth - 1, inside, state);
  asm volatile("");
  return below + 1;
}

long tail_first(void (*inside)(void*), void* state) {
  SWIPR_LONG_ENOUGH;
  return tail_second(inside, state);
}

long tail_second(void (*inside)(void*), void* state) {
  asm volatile("");
  inside(state);
  asm volatile("");
  return 2;
}

}  // namespace swipr::trace
