#include "tests/unit/preload/runtimes/native_frames.h"

#include <elfutils/libdwfl.h>

#include <cstdlib>

namespace swipr::runtimes {
namespace {

constexpr unsigned kStackPointer = 7;  // in DWARF's numbers for x86-64

bool has_cfi(Dwfl_Module* module, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Frame* frame = nullptr;
  Dwarf_CFI* const cfi = module != nullptr ? dwfl_module_eh_cfi(module, &bias) : nullptr;
  const bool is_found = cfi != nullptr && dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0;
  std::free(frame);
  return is_found;
}

struct Collector {
  Dwfl* dwfl;
  NativeFrames frames;
};

int collect(Dwfl_Frame* frame, void* argument) {
  auto& collector = *static_cast<Collector*>(argument);
  Dwarf_Addr pc = 0;
  bool is_exact = false;
  Dwarf_Word stack = 0;
  if (!dwfl_frame_pc(frame, &pc, &is_exact) || dwfl_frame_reg(frame, kStackPointer, &stack) != 0) {
    return DWARF_CB_ABORT;
  }
  const Dwarf_Addr lookup = is_exact ? pc : pc - 1;
  Dwfl_Module* const module = dwfl_addrmodule(collector.dwfl, lookup);
  const char* const symbol = module != nullptr ? dwfl_module_addrname(module, lookup) : nullptr;
  collector.frames.pcs.push_back(pc);
  collector.frames.stacks.push_back(stack);
  collector.frames.have_cfi.push_back(has_cfi(module, lookup));
  collector.frames.symbols.emplace_back(symbol != nullptr ? symbol : "");
  return DWARF_CB_OK;
}

}  // namespace

NativeFrames unwind_thread(pid_t process, pid_t thread) {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = nullptr,
                                           .debuginfo_path = nullptr};
  Collector collector{dwfl_begin(&callbacks), {}};
  if (dwfl_linux_proc_report(collector.dwfl, process) == 0 &&
      dwfl_report_end(collector.dwfl, nullptr, nullptr) == 0 &&
      dwfl_linux_proc_attach(collector.dwfl, process, false) == 0) {
    dwfl_getthread_frames(collector.dwfl, thread, collect, &collector);
  }
  dwfl_end(collector.dwfl);
  return collector.frames;
}

}  // namespace swipr::runtimes
