#include "tests/unit/preload/trace/plan/copies.h"

extern "C" {
std::int64_t swipr_copies_table[2] = {70, 900};
std::int64_t swipr_copies_add(std::int64_t value) { return value + 5; }
std::int64_t (*swipr_copies_pointer)(std::int64_t) = &swipr_copies_add;
}

SWIPR_FUNCTION(
    copy_frame,
    "push %rbp; mov %rsp,%rbp; push %rbx; mov %rdi,%rbx; lea 3(%rbx),%rax; pop %rbx; pop %rbp; ret")
SWIPR_FUNCTION(copy_load, "mov swipr_copies_table+8(%rip),%rax; add %rdi,%rax; ret")
SWIPR_FUNCTION(copy_compare,
               "cmpl $900,swipr_copies_table+8(%rip); mov %rdi,%rax; jne 1f; inc %rax; 1: ret")
SWIPR_FUNCTION(copy_short,
               "test %rdi,%rdi; js 1f; lea 1(%rdi),%rax; ret; 1: mov %rdi,%rax; neg %rax; ret")
SWIPR_FUNCTION(copy_near, "cmp $9,%edi; jg copy_add_far; mov %rdi,%rax; ret")
SWIPR_FUNCTION(copy_add_far, "mov $1000,%eax; add %rdi,%rax; ret")
SWIPR_FUNCTION(copy_tail, ".byte 0xe9; .long copy_add_far - . - 4")
SWIPR_FUNCTION(copy_short_tail, "add $2,%rdi; jmp 1f; nop; 1: lea 1(%rdi),%rax; ret")
SWIPR_FUNCTION(copy_call, "push %rbx; call copy_add_far; inc %rax; pop %rbx; ret")
SWIPR_FUNCTION(copy_call_memory, "sub $8,%rsp; call *swipr_copies_pointer(%rip); add $8,%rsp; ret")
SWIPR_FUNCTION(copy_call_register,
               "push %r12; lea copy_add_far(%rip),%r12; call *%r12; pop %r12; ret")
SWIPR_FUNCTION(copy_call_last,
               "push %rbx; mov swipr_copies_pointer(%rip),%rax; call *%rax; pop %rbx; ret")
SWIPR_FUNCTION(copy_jump_memory, "jmp *swipr_copies_pointer(%rip)")
SWIPR_FUNCTION(copy_flags, "cmp $4,%rdi; seta %al; movzbl %al,%eax; ret")
SWIPR_FUNCTION(copy_vector,
               "movq %rdi,%xmm0; paddq swipr_copies_vector(%rip),%xmm0; movq %xmm0,%rax; ret")
SWIPR_FUNCTION(copy_red_zone, "mov %rdi,-8(%rsp); push -8(%rsp); pop %rax; ret")
SWIPR_FUNCTION(copy_stack_pointer,
               "push %rsp; mov (%rsp),%rax; pop %rcx; sub %rsp,%rax; add %rdi,%rax; ret")
asm(".pushsection .rodata\n.p2align 4\nswipr_copies_vector: .quad 31, 0\n.popsection");

namespace swipr::trace {
namespace {

class CopyTest : public testing::TestWithParam<CopyCase> {};

TEST_P(CopyTest, HasTheResultsOfTheFunction) { expect_results_of_function(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, CopyTest,
                         testing::Values(SWIPR_CASE(copy_frame), SWIPR_CASE(copy_load),
                                         SWIPR_CASE(copy_compare), SWIPR_CASE(copy_short),
                                         SWIPR_CASE(copy_near), SWIPR_CASE(copy_add_far),
                                         SWIPR_CASE(copy_tail), SWIPR_CASE(copy_short_tail),
                                         SWIPR_CASE(copy_call), SWIPR_CASE(copy_call_memory),
                                         SWIPR_CASE(copy_call_register), SWIPR_CASE(copy_call_last),
                                         SWIPR_CASE(copy_jump_memory), SWIPR_CASE(copy_flags),
                                         SWIPR_CASE(copy_vector), SWIPR_CASE(copy_red_zone),
                                         SWIPR_CASE(copy_stack_pointer)));

}  // namespace
}  // namespace swipr::trace
