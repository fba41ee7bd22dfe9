// Code that is made at run time and that only GDB's JIT interface tells of, by ELF objects in
// memory. Source: GDB manual, "JIT Compilation Interface".
#include "tests/targets/stacks/jit_debug_object.h"
#include "tests/targets/stacks/stack_shape.h"

extern "C" {
[[gnu::visibility("default")]] extern generated_code::JitDescriptor __jit_debug_descriptor;
generated_code::JitDescriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace {

using generated_code::describe;
using generated_code::Enter;
using generated_code::Frame;
using generated_code::Page;

int volatile yes = 1;
constexpr int kChunks = 4000;  // a tenth of a second
const void* decoy_address = nullptr;

// Where an allocator would put the next one after it has freed the last.
generated_code::JitEntry entry;
generated_code::JitObject object;

void announce() {
  entry = {__jit_debug_descriptor.first, nullptr, &object, sizeof object};
  __jit_debug_descriptor.action = 1;
  __jit_debug_descriptor.relevant = __jit_debug_descriptor.first = &entry;
}

void withdraw() {
  __jit_debug_descriptor.action = 2;
  __jit_debug_descriptor.first = entry.next;
}

TARGET_INLINE int work() {
  int sum = 0;
  for (int i = 0; i < kChunks; ++i) sum = (sum & 7) + (stack_shape::rest() & 1);
  return sum;
}

}  // namespace

STACK_LEAF(told_leaf)
TARGET_FRAME int told_outer() {
  Page* const page = generated_code::map_page();
  const Enter enter = generated_code::generate(page, Frame::kSmall);
  describe(object, *page, "_ZN9generated4toldEv", ET_REL);
  announce();
  return enter(told_leaf, nullptr) + yes;
}
STACK_LINK(told_root, told_outer())

// Never running, only named by a return address that lies about.
TARGET_FRAME int decoy_leaf() {
  decoy_address = __builtin_return_address(0);
  return yes;
}
STACK_LINK(decoy, decoy_leaf())

// One place, one entry and one object for both: nothing but their bytes differ.
TARGET_FRAME int small_leaf() { return work(); }
TARGET_FRAME int large_leaf() { return work() + yes; }
TARGET_FRAME int swapped_outer() {
  Page* const page = generated_code::map_page();
  volatile int sum = decoy();
  for (bool large = false; yes != 0; large = !large) {
    const Enter enter = generated_code::generate(page, large ? Frame::kLarge : Frame::kSmall);
    describe(object, *page, large ? "jit_large" : "jit_small", ET_EXEC);
    announce();
    sum = sum + enter(large ? large_leaf : small_leaf, decoy_address);
    withdraw();
  }
  return sum;
}
STACK_LINK(swapped_root, swapped_outer())

// The same code, known for a while and then no more.
TARGET_FRAME int known_leaf() { return work(); }
TARGET_FRAME int unknown_leaf() { return work() + yes; }
TARGET_FRAME int withdrawn_outer() {
  Page* const page = generated_code::map_page();
  const Enter enter = generated_code::generate(page, Frame::kSmall);
  describe(object, *page, "jit_withdrawn", ET_REL);
  volatile int sum = 0;
  while (yes != 0) {
    announce();
    sum = sum + enter(known_leaf, nullptr);
    withdraw();
    sum = sum + enter(unknown_leaf, nullptr);
  }
  return sum;
}
STACK_LINK(withdrawn_root, withdrawn_outer())

int main(int argc, char** argv) {
  constexpr stack_shape::Shape kShapes[] = {
      {"told", told_root}, {"swapped", swapped_root}, {"withdrawn", withdrawn_root}};
  return stack_shape::run(kShapes, argc, argv);
}
