// A library that the test loads during a recording: waits in a function of its own.
#include <unistd.h>

extern "C" __attribute__((visibility("default"), noinline)) int recorder_test_plugin_wait(
    int file) {
  char byte;
  const auto count = ::read(file, &byte, 1);
  asm volatile("" ::: "memory");  // keeps this frame: the call must not become a jump
  return static_cast<int>(count);
}
