// Code that is made at run time, keeps no frame pointer, and registers its call frame information,
// as compilers of the LLVM kind do.
#include "tests/targets/stacks/generated_code.h"
#include "tests/targets/stacks/stack_shape.h"

extern "C" void __register_frame(const void* table);
extern "C" void __deregister_frame(const void* table);

namespace {

using generated_code::Enter;
using generated_code::Frame;
using generated_code::Page;

int volatile yes = 1;
constexpr int kChunks = 4000;  // a tenth of a second
const void* decoy_address = nullptr;

Enter generate_and_register(Page* page, Frame frame) {
  const Enter enter = generated_code::generate(page, frame);
  __register_frame(&page->frames);
  return enter;
}

}  // namespace

STACK_LEAF(registered_leaf)
TARGET_FRAME int registered_outer() {
  return generate_and_register(generated_code::map_page(), Frame::kSmall)(registered_leaf,
                                                                          nullptr) +
         yes;
}
STACK_LINK(registered_root, registered_outer())

// Never running, only named by a return address that lies about.
TARGET_FRAME int decoy_leaf() {
  decoy_address = __builtin_return_address(0);
  return yes;
}
STACK_LINK(decoy, decoy_leaf())

TARGET_FRAME int replaced_leaf() {
  int sum = 0;
  for (int i = 0; i < kChunks; ++i) sum = (sum & 7) + (stack_shape::rest() & 1);
  return sum;
}
TARGET_FRAME int replaced_outer() {
  Page* const page = generated_code::map_page();
  volatile int sum = decoy();
  for (bool large = false; yes != 0; large = !large) {
    const Enter enter = generate_and_register(page, large ? Frame::kLarge : Frame::kSmall);
    sum = sum + enter(replaced_leaf, decoy_address);
    __deregister_frame(&page->frames);
  }
  return sum;
}
STACK_LINK(replaced_root, replaced_outer())

int main(int argc, char** argv) {
  constexpr stack_shape::Shape kShapes[] = {{"registered", registered_root},
                                            {"replaced", replaced_root}};
  return stack_shape::run(kShapes, argc, argv);
}
