asm(R"(
  .text
  .globl bare_spin
  .type bare_spin, @function
bare_spin:
  push %rdi
1:
  sub $1, %rsi
  jnz 1b
  pop %rdi
  ret
  .size bare_spin, . - bare_spin
)");
