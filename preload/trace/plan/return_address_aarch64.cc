#include "preload/machine/instruction_aarch64.h"
#include "preload/machine/operands_aarch64.h"
#include "preload/trace/plan/code_words.h"
#include "preload/trace/plan/return_address.h"

namespace swipr::trace {

namespace {

constexpr unsigned kLink = 30, kFramePointer = 29, kStackPointer = 31;
constexpr std::uint32_t kStripLink = 0xd50320ff;  // xpaclri

// ret, br, retaa …: returns by it.
bool returns(std::uint32_t word) noexcept {
  return (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff ||
         (word & 0xfffffc1f) == 0xd61f0000;
}

// pacia x30, sp and the like.
bool signs_link(std::uint32_t word) noexcept { return (word & 0xffffc01f) == 0xdac1001e; }

// What a frame does with it.
bool is_saved_in_frame(std::uint32_t word) noexcept {
  const unsigned base = machine::base_register(word);
  return machine::is_memory_access(word) && (base == kStackPointer || base == kFramePointer);
}

bool reads_link(std::uint32_t word) noexcept {
  if (word == kStripLink) return true;
  if ((machine::registers_read(word) >> kLink & 1) == 0) return false;
  return !returns(word) && !signs_link(word) && !is_saved_in_frame(word);
}

// ldr of another register from 8(x29), the frame record's.
bool loads_saved_link(std::uint32_t word) noexcept {
  return (word & 0xffffffe0) == 0xf94007a0 && (word & 31) != kLink;
}

// mov x8 or w8, with the number of clone or clone3. Source: kernel, asm-generic/unistd.h.
bool chooses_clone(std::uint32_t word) noexcept {
  const std::uint32_t constant = word >> 5 & 0xffff;
  return (word & 0x7fe0001f) == 0x52800008 && (constant == 220 || constant == 435);
}

bool stores_link(std::uint32_t word) noexcept {
  return is_saved_in_frame(word) && (machine::registers_read(word) >> kLink & 1) != 0;
}

}  // namespace

// All of its code, because x30 may keep the return address anywhere. A function that calls clone
// and has not saved it returns twice by it (vfork).
bool reads_return_address(const Function& function) noexcept {
  bool clones = false;
  bool saves = false;
  for (std::size_t at = 0; at + machine::kInstructionBytes <= function.code.size();
       at += machine::kInstructionBytes) {
    const std::uint32_t word = word_at(function.code, at);
    if (reads_link(word) || loads_saved_link(word)) return true;
    clones = clones || chooses_clone(word);
    saves = saves || stores_link(word);
  }
  return clones && !saves;
}

}  // namespace swipr::trace
