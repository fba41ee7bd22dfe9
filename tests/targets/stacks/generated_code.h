// Code that a target makes at run time: it keeps no frame pointer, calls back, and comes with the
// call frame information that describes it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace generated_code {

// Two functions in the same place that differ in the size of their frames.
enum class Frame : unsigned char { kSmall = 32, kLarge = 96 };

// One CIE, one FDE, the end. Source: LSB 5.0 Core, section 10.6.1.
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

struct Page {
  unsigned char code[64];
  CallFrames frames;
};

// Calls the first argument. The large frame has the second one, a return address of another
// function, where the small one's own would be.
using Enter = int (*)(int (*)(), const void*);

inline Page* map_page() {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::abort();
  return static_cast<Page*>(page);
}

// RBP holds no address meanwhile, so that nothing but the CFI leads to the caller.
inline Enter generate(Page* page, Frame frame) {
  const bool large = frame == Frame::kLarge;
  const auto bytes = static_cast<unsigned char>(frame);
  constexpr unsigned char kStore[] = {0x48, 0x89, 0x74, 0x24, 0x28};  // mov [rsp + 40], rsi
  constexpr unsigned char kNothing[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  unsigned char code[] = {
      0x55,                           // push rbp
      0x48, 0x83, 0xec, bytes,        // sub  rsp, bytes
      0,    0,    0,    0,     0,     // store or nothing
      0xbd, 0x01, 0x00, 0x00,  0x00,  // mov  ebp, 1
      0xff, 0xd7,                     // call rdi
      0x48, 0x83, 0xc4, bytes,        // add  rsp, bytes
      0x5d,                           // pop  rbp
      0xc3,                           // ret
  };
  std::memcpy(code + 5, large ? kStore : kNothing, sizeof kStore);
  CallFrames frames;
  frames.code = page;
  frames.code_bytes = sizeof code;
  frames.take[2] = static_cast<unsigned char>(16 + bytes);
  mprotect(page, sizeof(Page), PROT_READ | PROT_WRITE);
  std::memcpy(page->code, code, sizeof code);
  page->frames = frames;
  mprotect(page, sizeof(Page), PROT_READ | PROT_EXEC);
  return reinterpret_cast<Enter>(page->code);
}

}  // namespace generated_code
