// Code that no table describes, or no longer does: made at run time, written in assembly, unloaded,
// and a stack that a vfork child uses at the same time.
#include "tests/targets/stacks/stack_code.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdlib>

#include "tests/targets/stacks/stack_shape.h"

namespace {
int volatile yes = 1;
const char* plugin_path = nullptr;
constexpr int kChunks = 1000;  // some tens of milliseconds
}  // namespace

// Called through generated code that keeps a frame pointer, as just-in-time compilers do.
STACK_LEAF(generated_leaf)
TARGET_FRAME int generated_outer() {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::abort();
  std::memcpy(page, framed_call_begin,
              static_cast<std::size_t>(framed_call_end - framed_call_begin));
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + 4096);
  int (*const enter)(int (*)()) = reinterpret_cast<int (*)(int (*)())>(page);
  return enter(generated_leaf) + yes;
}
STACK_LINK(generated_root, generated_outer())

TARGET_FRAME int bare_caller() {
  stack_shape::at_leaf = true;
  volatile int sum = 0;
  while (yes != 0) sum = (sum + bare_leaf()) & 1;
  return sum;
}
STACK_LINK(bare_outer, bare_caller())

namespace {
using Kernel = int (*)(long);
volatile Kernel kernel = nullptr;  // tables of function pointers choose by processor
constexpr long kRounds = 100'000;

using Link = int (*)(int);
Link volatile stale_link = nullptr;
}  // namespace
// Leaves a chain of return addresses behind computed calls where the kernel's frame will be.
TARGET_FRAME int stale_call(int left) {
  volatile char local[200];
  local[0] = 1;
  return (left == 0 ? yes : stale_link(left - 1)) + local[0];
}
TARGET_FRAME int kernel_caller() {
  volatile int sum = 0;
  stale_link = stale_call;
  while (yes != 0) {
    sum = (sum + stale_link(100)) & 1;
    stack_shape::at_leaf = true;
    sum = (sum + kernel(kRounds)) & 1;
  }
  return sum;
}
STACK_LINK(kernel_outer, kernel_caller())
TARGET_FRAME int fixed_outer() {
  kernel = fixed_kernel;
  return kernel_outer() + yes;
}
TARGET_FRAME int plain_outer() {
  kernel = plain_kernel;
  return kernel_outer() + yes;
}
TARGET_FRAME int aligned_outer() {
  kernel = aligned_kernel;
  return kernel_outer() + yes;
}

// Work in a library and, when it is unloaded, without it.
TARGET_FRAME int unloaded_rest() {
  static std::uint64_t seed = 1;
  for (int i = 0; i < kChunks; ++i) seed = target::churn(seed, target::kChunk);
  return static_cast<int>(seed & 1);
}
TARGET_FRAME int unloaded_outer() {
  int sum = 0;
  while (yes != 0) {
    void* const library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    using Hot = std::uint64_t (*)(std::uint64_t);
    const auto hot = reinterpret_cast<Hot>(dlsym(library, "plugin_hot"));
    for (int i = 0; i < kChunks; ++i) sum += static_cast<int>(hot(1) & 1);
    dlclose(library);
    sum = (sum + unloaded_rest()) & 1;
    stack_shape::at_leaf = true;
  }
  return sum;
}

// The child works deeper in the stack of its parent, which the kernel holds in vfork.
TARGET_FRAME int vfork_child() {
  volatile char local[4096];
  local[0] = 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (yes != 0) local[0] = (stack_shape::rest() & 1) != 0;
  return local[0];
}
TARGET_FRAME int vfork_parent() {
  volatile char local[100];
  local[0] = 1;
  const pid_t child = vfork();
  if (child == 0) _exit(vfork_child());
  return child + local[0];
}
TARGET_FRAME int vfork_outer() {
  volatile int sum = vfork_parent();
  while (yes != 0) pause();
  return sum;
}

int main(int argc, char** argv) {
  constexpr stack_shape::Shape kShapes[] = {
      {"generated", generated_root}, {"bare", bare_outer},   {"fixed", fixed_outer},
      {"aligned", aligned_outer},    {"plain", plain_outer}, {"unloaded", unloaded_outer},
      {"vfork", vfork_outer}};
  if (argc > 3) plugin_path = argv[3];
  return stack_shape::run(kShapes, argc, argv);
}
