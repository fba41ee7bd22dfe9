// The header in C++: records itself into the file of its argument while it runs.
#include <dlfcn.h>

#include "include/swipr/swipr.h"

int main(int, char** argv) {
  const swipr::Recording recording(argv[1]);
  return recording.is_running() ? 0 : 3;
}
