// Functions in assembly and the copies of their beginnings, which are executed: the results are the
// same.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <ostream>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/trace/plan/plan.h"

extern "C" {
std::int64_t swipr_copies_table[2] = {70, 900};
}

// NAME_end is behind its last instruction.
#define SWIPR_FUNCTION(name, code)                                                             \
  asm(".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n" #name ":\n" code \
      "\n" #name "_end:\n.globl " #name "_end\n.hidden " #name "_end\n.popsection\n");         \
  extern "C" std::int64_t name(std::int64_t);                                                  \
  extern "C" const std::uint8_t name##_end[];

SWIPR_FUNCTION(copy_frame,
               "stp x29,x30,[sp,#-16]!; mov x29,sp; add x0,x0,#3; ldp x29,x30,[sp],#16; ret")
SWIPR_FUNCTION(copy_signed, "hint #25; stp x29,x30,[sp,#-16]!; ldp x29,x30,[sp],#16; hint #29; ret")
SWIPR_FUNCTION(copy_landing, "hint #34; add x0,x0,#9; ret")
SWIPR_FUNCTION(
    copy_page,
    "adrp x1,swipr_copies_table; ldr x1,[x1,#:lo12:swipr_copies_table]; add x0,x0,x1; ret")
SWIPR_FUNCTION(copy_address, "adr x1,1f; ldr x1,[x1]; add x0,x0,x1; ret; .p2align 3; 1: .quad 44")
SWIPR_FUNCTION(copy_literal, "ldr x1,1f; add x0,x0,x1; ret; .p2align 3; 1: .quad -41")
SWIPR_FUNCTION(copy_literal_word, "ldr w1,1f; add x0,x0,x1; ret; .p2align 3; 1: .quad -41")
SWIPR_FUNCTION(copy_literal_signed,
               "ldrsw x1,1f; add x0,x0,x1; ret; .p2align 3; 1: .quad 0xfffffff0")
SWIPR_FUNCTION(copy_zero, "cbz x0,1f; add x0,x0,#1; ret; 1: mov x0,#77; ret")
SWIPR_FUNCTION(copy_not_zero, "cbnz w0,1f; add x0,x0,#1; ret; 1: neg x0,x0; ret")
SWIPR_FUNCTION(copy_bit, "tbz x0,#63,1f; add x0,x0,#1; ret; 1: neg x0,x0; ret")
SWIPR_FUNCTION(copy_low_bit, "tbnz w0,#0,1f; add x0,x0,#1; ret; 1: neg x0,x0; ret")
SWIPR_FUNCTION(copy_flags, "hint #34; cmp x0,#4; b.gt 1f; mov x0,#0; ret; 1: mov x0,#1; ret")
SWIPR_FUNCTION(copy_condition, "b.eq 1f; 1: add x0,x0,#5; ret")
SWIPR_FUNCTION(copy_tail, "b copy_landing")
SWIPR_FUNCTION(copy_return, "ret")
SWIPR_FUNCTION(copy_vector, "fmov d0,x0; fmov x0,d0; ret")
SWIPR_FUNCTION(copy_stack, "sub sp,sp,#16; str x0,[sp]; ldr x0,[sp],#16; ret")

namespace swipr::trace {
namespace {

using Callable = std::int64_t (*)(std::int64_t);

struct CopyCase {
  const char* name;
  Callable function;
  const std::uint8_t* end;
};
void PrintTo(const CopyCase& c, std::ostream* out) { *out << c.name; }
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
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_); }
  bool is_mapped() const { return memory_ != MAP_FAILED; }

 private:
  void* memory_ = MAP_FAILED;
};

class CopyTest : public testing::TestWithParam<CopyCase> {};

TEST_P(CopyTest, HasTheResultsOfTheFunction) {
  const auto address = reinterpret_cast<std::uint64_t>(GetParam().function);
  const auto* code = reinterpret_cast<const std::uint8_t*>(GetParam().function);
  const Function function{address, {code, GetParam().end}};
  Plan plan;
  ASSERT_STREQ(refusal_text(make_plan(function, plan)), "");
  std::array<std::uint8_t, Plan::kMostCopyBytes> copy;
  const NearPage page(address);
  ASSERT_TRUE(page.is_mapped());
  ASSERT_EQ(build_copy(plan, function, page.address(), copy), Refusal::kNone);
  void* const memory = reinterpret_cast<void*>(page.address());
  std::memcpy(memory, copy.data(), copy.size());
  machine::synchronise_code(memory, copy.size());
  const auto moved = reinterpret_cast<Callable>(page.address());
  for (std::int64_t value = -20; value < 20; ++value) {
    EXPECT_EQ(moved(value), GetParam().function(value)) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CopyTest,
    testing::Values(SWIPR_CASE(copy_frame), SWIPR_CASE(copy_signed), SWIPR_CASE(copy_landing),
                    SWIPR_CASE(copy_page), SWIPR_CASE(copy_address), SWIPR_CASE(copy_literal),
                    SWIPR_CASE(copy_literal_word), SWIPR_CASE(copy_literal_signed),
                    SWIPR_CASE(copy_zero), SWIPR_CASE(copy_not_zero), SWIPR_CASE(copy_bit),
                    SWIPR_CASE(copy_low_bit), SWIPR_CASE(copy_flags), SWIPR_CASE(copy_condition),
                    SWIPR_CASE(copy_tail), SWIPR_CASE(copy_return), SWIPR_CASE(copy_vector),
                    SWIPR_CASE(copy_stack)));

}  // namespace
}  // namespace swipr::trace
