// What the programs with hostile stacks share: a shape is a chain of functions that ends in a leaf,
// which works (argument "busy") or blocks (argument "blocked") for good.
#pragma once

#include <poll.h>

#include <cstring>

#include "tests/targets/target.h"

namespace stack_shape {

inline bool blocks = false;
inline std::atomic<bool> at_leaf{false};
inline volatile int result = 0;

// The leaf's body. Returns so that a leaf is a loop that no compiler can take for endless.
TARGET_INLINE int rest() {
  static std::uint64_t seed = 1;
  at_leaf.store(true, std::memory_order_relaxed);
  if (blocks) return poll(nullptr, 0, -1);
  seed = target::churn(seed, target::kChunk);
  return static_cast<int>(seed & 1);
}

struct Shape {
  const char* name;
  int (*enter)();
};

}  // namespace stack_shape

// A function with a frame of its own, for templates.
#ifdef __clang__
#define STACK_CALL __attribute__((noinline, disable_tail_calls))
#else
#define STACK_CALL __attribute__((noipa))
#endif

// A leaf of this name that never returns, and a function of this name that calls another.
#define STACK_LEAF(name)                                          \
  TARGET_FRAME int name() {                                       \
    int sum = 0;                                                  \
    while (sum >= 0) sum = (sum & 7) + (stack_shape::rest() & 1); \
    return sum;                                                   \
  }
#define STACK_LINK(name, call) \
  TARGET_FRAME int name() {    \
    volatile char local[24];   \
    local[0] = 1;              \
    const int result = call;   \
    return result + local[0];  \
  }

// The outermost function of the program in every stack.
TARGET_FRAME void* shape_thread(void* shape) {
  stack_shape::result = static_cast<const stack_shape::Shape*>(shape)->enter();
  return nullptr;
}

namespace stack_shape {

// Runs the shape that the command line names in a thread of its own until stdin ends.
// Usage: PROGRAM SHAPE busy|blocked [more, which the shape reads itself]
template <std::size_t kCount>
int run(const Shape (&shapes)[kCount], int argc, char** argv, std::size_t stack_bytes = 0) {
  if (argc < 3) return 2;
  blocks = std::strcmp(argv[2], "blocked") == 0;
  for (const Shape& shape : shapes) {
    if (std::strcmp(shape.name, argv[1]) != 0) continue;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    void* const argument = const_cast<Shape*>(&shape);
    if (pthread_create(&thread, &attributes, shape_thread, argument) != 0) return 1;
    pthread_setname_np(thread, "shape");
    while (!at_leaf.load(std::memory_order_relaxed)) sched_yield();
    target::say("ready");
    target::wait_for_stdin_end();
    _exit(0);  // the thread never returns
  }
  return 2;
}

}  // namespace stack_shape
