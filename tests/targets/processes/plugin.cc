// The library that dlopener loads while it is being recorded.
#include "tests/targets/target.h"

extern "C" __attribute__((noinline, visibility("default"))) std::uint64_t plugin_hot(
    std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}
