// A function of this program that is traced while the object lives: patched at once, so no other
// thread may be in it when this begins or ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "preload/trace/calls/histogram.h"
#include "preload/trace/plan/patch.h"

namespace swipr::trace {

class Traced {
 public:
  template <typename Result, typename... Arguments>
  explicit Traced(Result (*function)(Arguments...))
      : Traced(reinterpret_cast<std::uint64_t>(function)) {}
  template <typename Result, typename... Arguments>
  explicit Traced(Result (*function)(Arguments..., ...))
      : Traced(reinterpret_cast<std::uint64_t>(function)) {}
  explicit Traced(std::uint64_t function);
  ~Traced();
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  std::uint64_t calls() const;
  Histogram histogram() const;

 private:
  void patch(const std::uint8_t (&bytes)[kJumpBytes]);

  std::uint32_t probe_ = 0;
  std::uint64_t patch_at_ = 0;
  std::uint8_t original_[kJumpBytes] = {};
};

// Tests of longjmp may leave calls behind in the main thread, which later ones find.
class TracedTest : public testing::Test {
 protected:
  TracedTest();
  std::uint32_t opened() const;

 private:
  std::uint32_t before_ = 0;
};

}  // namespace swipr::trace
