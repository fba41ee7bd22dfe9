// Generated code of x86-64.
#pragma once

#include <elf.h>

#include <cstring>

namespace generated_code {

inline constexpr unsigned kElfMachine = EM_X86_64;
inline constexpr unsigned kOtherElfMachine = EM_AARCH64;

// A CIE without augmentation, from its version on.
inline constexpr unsigned char kPlainCie[16] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};

struct [[gnu::packed]] CallFrames {
  unsigned cie_bytes = 20;
  unsigned cie_id = 0;
  unsigned char cie[16] = {1,    'z',  'R', 0,  // version, augmentation
                           1,    0x78,          // alignments: 1 and -8
                           16,   1,    0,       // return address; pointers are absolute
                           0x0c, 7,    8,       // CFA = rsp + 8
                           0x90, 1};            // return address at CFA - 8
  unsigned fde_bytes = 36;
  unsigned to_cie = 28;
  const void* code = nullptr;
  std::size_t code_bytes = 0;
  unsigned char augmentation_bytes = 0;
  unsigned char push[5] = {0x41, 0x0e, 16, 0x86, 2};  // behind push: CFA + 16, rbp
  unsigned char take[3] = {0x44, 0x0e, 0};            // behind sub
  unsigned char give[3] = {0x40 + 16, 0x0e, 16};      // behind add
  unsigned char pop[4] = {0x41, 0x0e, 8, 0xc6};       // behind pop
  unsigned end = 0;
};

struct Code {
  unsigned char bytes[23];
};

// RBP holds no address meanwhile, so that nothing but the CFI leads to the caller.
inline Code make_code(Frame frame, CallFrames& frames) {
  const auto bytes = static_cast<unsigned char>(frame);
  Code code{{
      0x55,                           // push rbp
      0x48, 0x83, 0xec, bytes,        // sub  rsp, bytes
      0x0f, 0x1f, 0x44, 0x00,  0x00,  // nothing
      0xbd, 0x01, 0x00, 0x00,  0x00,  // mov  ebp, 1
      0xff, 0xd7,                     // call rdi
      0x48, 0x83, 0xc4, bytes,        // add  rsp, bytes
      0x5d,                           // pop  rbp
      0xc3,                           // ret
  }};
  constexpr unsigned char kStore[] = {0x48, 0x89, 0x74, 0x24, 0x28};  // mov [rsp + 40], rsi
  if (frame == Frame::kLarge) std::memcpy(code.bytes + 5, kStore, sizeof kStore);
  frames.take[2] = static_cast<unsigned char>(16 + bytes);
  return code;
}

}  // namespace generated_code
