// Functions as tests of the gate trace them. Probes and copies stay for ever: a late handler may
// read a function's plan.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "preload/trace/traced_function.h"
#include "tests/unit/preload/trace/loaded_functions.h"

namespace swipr::trace {

inline TracedFunction& set_up_traced(const Function& function, const Plan& plan) {
  static std::uint32_t probe = kProbeCount;
  auto* const made = new TracedFunction;
  EXPECT_EQ(made->set_up(function, plan, --probe), Refusal::kNone);
  return *made;
}

// Of this program.
inline TracedFunction& traced(void* function) {
  static LoadedFile program("");
  Function found;
  Plan plan;
  EXPECT_TRUE(program.plan(program.find(reinterpret_cast<std::uint64_t>(function)), found, plan));
  return set_up_traced(found, plan);
}

}  // namespace swipr::trace
