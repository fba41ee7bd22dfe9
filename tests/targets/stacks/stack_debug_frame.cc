// Built without .eh_frame: what describes these frames is .debug_frame, in the file only.
#include "tests/targets/stacks/stack_shape.h"

STACK_LEAF(described_leaf)
STACK_LINK(described_middle, described_leaf())
STACK_LINK(described_outer, described_middle())

int main(int argc, char** argv) {
  constexpr stack_shape::Shape kShapes[] = {{"described", described_outer}};
  return stack_shape::run(kShapes, argc, argv);
}
