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

}  // namespace generated_code

// CallFrames: one CIE, one FDE, the end. Source: LSB 5.0 Core, section 10.6.1. make_code: code with
// a frame of that size, and its size in the call frames.
#if defined(__x86_64__)
#include "tests/targets/stacks/generated_code_x86_64.h"
#elif defined(__aarch64__)
#include "tests/targets/stacks/generated_code_aarch64.h"
#endif

namespace generated_code {

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

inline Enter generate(Page* page, Frame frame) {
  CallFrames frames;
  const Code code = make_code(frame, frames);
  frames.code = page;
  frames.code_bytes = sizeof code;
  mprotect(page, sizeof(Page), PROT_READ | PROT_WRITE);
  std::memcpy(page->code, &code, sizeof code);
  page->frames = frames;
  mprotect(page, sizeof(Page), PROT_READ | PROT_EXEC);
  auto* const begin = reinterpret_cast<char*>(page);
  __builtin___clear_cache(begin, begin + sizeof(Page));
  return reinterpret_cast<Enter>(page->code);
}

}  // namespace generated_code
