asm(R"(
  .text
  .globl bare_spin
  .type bare_spin, @function
bare_spin:
  str x0, [sp, #-16]!
1:
  subs x1, x1, #1
  b.ne 1b
  ldr x0, [sp], #16
  ret
  .size bare_spin, . - bare_spin
)");
