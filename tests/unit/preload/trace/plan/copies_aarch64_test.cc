#include "tests/unit/preload/trace/plan/copies.h"

extern "C" {
std::int64_t swipr_copies_table[2] = {70, 900};
}

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

class CopyTest : public testing::TestWithParam<CopyCase> {};

TEST_P(CopyTest, HasTheResultsOfTheFunction) { expect_results_of_function(GetParam()); }

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
