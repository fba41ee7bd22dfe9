// Functions in assembly and the copies of their beginnings, which are executed: the results are the
// same. The functions are the machine's.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <ostream>

#include "preload/trace/plan/patch.h"
#include "preload/trace/plan/plan.h"
#include "preload/trace/stub.h"
#include "tests/unit/preload/trace/machine.h"

// Each begins at the start of a word. NAME_end is behind its last instruction.
#define SWIPR_FUNCTION(name, code)                                                             \
  asm(".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n" #name ":\n" code \
      "\n" #name "_end:\n.globl " #name "_end\n.hidden " #name "_end\n.popsection\n");         \
  extern "C" std::int64_t name(std::int64_t);                                                  \
  extern "C" const std::uint8_t name##_end[];

namespace swipr::trace {

using Callable = std::int64_t (*)(std::int64_t);

struct CopyCase {
  const char* name;
  Callable function;
  const std::uint8_t* end;
};
inline void PrintTo(const CopyCase& c, std::ostream* out) { *out << c.name; }
#define SWIPR_CASE(name) \
  CopyCase { #name, &name, name##_end }

class NearPage {
 public:
  explicit NearPage(std::uint64_t address) {
    for (std::uint64_t distance = 4 << 20; distance < kFarthestCopy && memory_ == MAP_FAILED;
         distance += 1 << 20) {
      memory_ = ::mmap(reinterpret_cast<void*>((address & -65536ull) - distance), 4096,
                       PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
  }
  ~NearPage() { ::munmap(memory_, 4096); }
  NearPage(const NearPage&) = delete;
  NearPage& operator=(const NearPage&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_); }
  bool is_mapped() const { return memory_ != MAP_FAILED; }

 private:
  void* memory_ = MAP_FAILED;
};

inline void expect_results_of_function(const CopyCase& c) {
  const auto address = reinterpret_cast<std::uint64_t>(c.function);
  const Function function{address, {reinterpret_cast<const std::uint8_t*>(c.function), c.end}};
  Plan plan;
  ASSERT_STREQ(refusal_text(make_plan(function, plan)), "");
  std::array<std::uint8_t, Plan::kMostCopyBytes> copy;
  const NearPage page(address);
  ASSERT_TRUE(page.is_mapped());
  ASSERT_EQ(build_copy(plan, function, page.address(), copy), Refusal::kNone);
  std::memset(reinterpret_cast<void*>(page.address()), kTrapByte, 4096);
  std::memcpy(reinterpret_cast<void*>(page.address()), copy.data(), bytes_of_copy(plan));
  flush_code(page.address(), copy.size());
  const auto moved = reinterpret_cast<Callable>(page.address());
  for (std::int64_t value = -20; value < 20; ++value) {
    EXPECT_EQ(moved(value), c.function(value)) << value;
  }
}

}  // namespace swipr::trace
