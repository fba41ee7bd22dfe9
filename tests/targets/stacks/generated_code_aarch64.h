// Generated code of aarch64.
#pragma once

#include <elf.h>

namespace generated_code {

inline constexpr unsigned kElfMachine = EM_AARCH64;
inline constexpr unsigned kOtherElfMachine = EM_X86_64;

// A CIE without augmentation, from its version on.
inline constexpr unsigned char kPlainCie[16] = {1, 0, 1, 0x78, 30, 0x0c, 31, 0};

struct [[gnu::packed]] CallFrames {
  unsigned cie_bytes = 20;
  unsigned cie_id = 0;
  unsigned char cie[16] = {1,    'z',  'R', 0,  // version, augmentation
                           1,    0x78,          // alignments: 1 and -8
                           30,   1,    0,       // return address; pointers are absolute
                           0x0c, 31,   0};      // CFA = sp
  unsigned fde_bytes = 40;
  unsigned to_cie = 28;
  const void* code = nullptr;
  std::size_t code_bytes = 0;
  unsigned char augmentation_bytes = 0;
  unsigned char push[7] = {0x44, 0x0e, 16, 0x9d, 2, 0x9e, 1};  // behind stp: CFA + 16, x29, x30
  unsigned char take[3] = {0x44, 0x0e, 0};                     // behind sub
  unsigned char give[3] = {0x40 + 16, 0x0e, 16};               // behind add
  unsigned char pop[6] = {0x44, 0x0e, 0, 0xdd, 0xde, 0};       // behind ldp
  unsigned end = 0;
};

struct Code {
  unsigned words[8];
};

// x29 holds no address meanwhile, so that nothing but the CFI leads to the caller.
inline Code make_code(Frame frame, CallFrames& frames) {
  const auto bytes = static_cast<unsigned>(frame);
  constexpr unsigned kNothing = 0xd503201f;
  constexpr unsigned kStore = 0xf90017e1;  // str x1, [sp, #40]
  frames.take[2] = static_cast<unsigned char>(16 + bytes);
  return {{
      0xa9bf7bfd,                                  // stp x29, x30, [sp, #-16]!
      0xd10003ff | bytes << 10,                    // sub sp, sp, #bytes
      frame == Frame::kLarge ? kStore : kNothing,  //
      0xd280003d,                                  // mov x29, #1
      0xd63f0000,                                  // blr x0
      0x910003ff | bytes << 10,                    // add sp, sp, #bytes
      0xa8c17bfd,                                  // ldp x29, x30, [sp], #16
      0xd65f03c0,                                  // ret
  }};
}

}  // namespace generated_code
