#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "preload/handler/calls/call_number.h"
#include "preload/handler/calls/system_call.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::handler {

namespace {

// Instructions that compilers put between the one that sets eax and `syscall`. kAny: any byte.
constexpr std::uint16_t kAny = 0x100;
struct Filler {
  std::size_t size;
  std::array<std::uint16_t, 5> bytes;
};
constexpr Filler kFillers[] = {
    {4, {0x8b, 0x7c, 0x24, kAny}},        // mov n(%rsp),%edi
    {4, {0x8b, 0x74, 0x24, kAny}},        // mov n(%rsp),%esi
    {4, {0x8b, 0x54, 0x24, kAny}},        // mov n(%rsp),%edx
    {5, {0x48, 0x8b, 0x7c, 0x24, kAny}},  // mov n(%rsp),%rdi
    {5, {0x48, 0x8b, 0x74, 0x24, kAny}},  // mov n(%rsp),%rsi
    {5, {0x48, 0x8b, 0x54, 0x24, kAny}},  // mov n(%rsp),%rdx
    {2, {0x31, 0xff}},                    // xor %edi,%edi
    {2, {0x31, 0xf6}},                    // xor %esi,%esi
    {2, {0x31, 0xd2}},                    // xor %edx,%edx
    {3, {0x45, 0x31, 0xd2}},              // xor %r10d,%r10d
    {4, {0x40, 0x80, 0xf6, kAny}},        // xor $n,%sil
};

using Code = std::span<const std::uint8_t>;

bool ends_in(Code code, const Filler& filler) noexcept {
  if (code.size() < filler.size) return false;
  const Code tail = code.last(filler.size);
  for (std::size_t at = 0; at < filler.size; ++at) {
    if (filler.bytes[at] != kAny && filler.bytes[at] != tail[at]) return false;
  }
  return true;
}

// B8 is "set eax" only at the beginning of an instruction. After these bytes it belongs to "set
// r8d" (41 B8) or is part of an address: n(%rax), or -72 off a base register.
bool can_precede(Code code) noexcept {
  constexpr std::uint8_t kOpcodes[] = {0x03, 0x0b, 0x23, 0x2b, 0x33, 0x3b, 0x41, 0x45, 0x49,
                                       0x4d, 0x63, 0x85, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8d};
  const std::uint8_t last = code[code.size() - 1];
  const std::uint8_t before = code[code.size() - 2];
  if (last == 0x24 && before == 0x44) return false;           // movl $n,-72(%rsp)
  if (before == 0x0f && (last & 0xf6) == 0xb6) return false;  // movzx, movsx
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), last) == std::end(kOpcodes);
}

// mov $n,%eax and xor %eax,%eax at the end of `code`; -1: neither.
std::int32_t number_set_at_end(Code code) noexcept {
  constexpr std::size_t kMovBytes = 5;
  if (code.size() < kMovBytes + 2) return -1;
  const Code mov = code.last(kMovBytes);
  if (mov[0] == 0xb8 && mov[3] == 0 && mov[4] == 0 &&
      can_precede(code.first(code.size() - kMovBytes)))
    return mov[1] | mov[2] << 8;
  const bool has_prefix = (mov[2] & 0xf0) == 0x40;  // xor %r8d,%r8d and similar
  return mov[3] == 0x31 && mov[4] == 0xc0 && !has_prefix ? 0 : -1;
}

bool ends_in(Code code, Code tail) noexcept {
  return code.size() >= tail.size() &&
         std::equal(tail.begin(), tail.end(),
                    code.end() - static_cast<std::ptrdiff_t>(tail.size()));
}

// glibc 2.31's do_futex_wait: the number comes by ecx, up to 36 bytes before.
std::int32_t futex_by_ecx(Code before) noexcept {
  constexpr std::uint8_t kToEax[] = {0x89, 0xc8};                           // mov %ecx,%eax
  constexpr std::uint8_t kToEaxThenXor[] = {0x89, 0xc8, 0x44, 0x31, 0xf6};  // xor %r14d,%esi
  constexpr std::uint8_t kToEcx[] = {0xb9, SYS_futex, 0, 0, 0};             // mov $202,%ecx
  if (!ends_in(before, kToEax) && !ends_in(before, kToEaxThenXor)) return -1;
  const auto found =
      std::search(before.begin(), before.end(), std::begin(kToEcx), std::end(kToEcx));
  return found == before.end() ? -1 : SYS_futex;
}

// The end of the function through which glibc since 2.41 and musl make all calls that can be
// cancelled. Written in assembly, so it is the same in every build.
// Source: glibc, sysdeps/unix/sysv/linux/x86_64/syscall_cancel.S; musl,
// src/thread/x86_64/syscall_cp.s.
constexpr std::uint8_t kCancellable[] = {0x49, 0x89, 0xfb,              // mov %rdi,%r11
                                         0x48, 0x89, 0xf0,              // mov %rsi,%rax: the number
                                         0x48, 0x89, 0xd7,              // mov %rdx,%rdi
                                         0x48, 0x89, 0xce,              // mov %rcx,%rsi
                                         0x4c, 0x89, 0xc2,              // mov %r8,%rdx
                                         0x4d, 0x89, 0xca,              // mov %r9,%r10
                                         0x4c, 0x8b, 0x44, 0x24, 0x08,  // mov 8(%rsp),%r8
                                         0x4c, 0x8b, 0x4c, 0x24, 0x10,  // mov 16(%rsp),%r9
                                         0x4c, 0x89, 0x5c, 0x24, 0x08,  // mov %r11,8(%rsp)
                                         0x0f, 0x05};

constexpr std::uint8_t kToRax = 0x44;
constexpr std::uint8_t kToRsi = 0x74;

// Where mov n(%rsp),REGISTER or mov n(%rbp),REGISTER at the end of `code` reads. 0: it ends in
// another instruction.
std::uint64_t loaded_from(Code code, std::uint8_t to, std::uint64_t sp, std::uint64_t fp) noexcept {
  const std::uint8_t from_sp[] = {0x48, 0x8b, to, 0x24};
  const std::uint8_t from_fp[] = {0x48, 0x8b, static_cast<std::uint8_t>(to | 1)};
  if (code.empty()) return 0;
  const std::uint64_t offset = (std::uint64_t{code.back()} ^ 0x80) - 0x80;  // sign-extended
  const Code rest = code.first(code.size() - 1);
  if (ends_in(rest, from_sp)) return sp + offset;
  return ends_in(rest, from_fp) ? fp + offset : 0;
}

std::int32_t number_at(std::uint64_t address, unwind::PageProbeReader& reader) noexcept {
  std::uint64_t number = 0;
  return address != 0 && reader.read_word(address, number) ? to_call_number(number) : -1;
}

// mov REGISTER,%rsi, of the registers that functions keep.
struct Copy {
  std::uint8_t code[3];
  std::uint8_t from;
};
constexpr Copy kCopiesToRsi[] = {{{0x48, 0x89, 0xde}, REG_RBX}, {{0x48, 0x89, 0xee}, REG_RBP},
                                 {{0x4c, 0x89, 0xe6}, REG_R12}, {{0x4c, 0x89, 0xee}, REG_R13},
                                 {{0x4c, 0x89, 0xf6}, REG_R14}, {{0x4c, 0x89, 0xfe}, REG_R15}};

std::uint64_t reg(const gregset_t& registers, int number) noexcept {
  return static_cast<std::uint64_t>(registers[number]);
}

// Code that the thread has just executed, or returns to: unmapping it would crash the thread in any
// case.
template <std::size_t kSize>
bool read_code(std::uint64_t end, std::array<std::uint8_t, kSize>& code,
               unwind::PageProbeReader& reader) noexcept {
  for (std::size_t at = 0; at < kSize; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    if (!reader.read_word(end - kSize + at, word)) return false;
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&word), sizeof(word), &code[at]);
  }
  return true;
}

// glibc's caller of that function has the number as its own seventh argument, musl's as its first.
// Both move it to rsi within a few instructions before the call.
std::int32_t number_of_caller(const gregset_t& registers,
                              unwind::PageProbeReader& reader) noexcept {
  constexpr std::size_t kCallBytes = 5;
  constexpr std::uint8_t kCall = 0xe8;
  constexpr std::size_t kLoadBytes = 4;
  std::uint64_t behind = 0;
  std::array<std::uint8_t, 32> bytes;
  const std::uint64_t sp = reg(registers, REG_RSP);
  if (!reader.read_word(sp, behind) || !read_code(behind, bytes, reader)) return -1;
  const Code code{bytes};
  if (code[code.size() - kCallBytes] != kCall) return -1;
  const std::uint64_t callers_sp = sp + sizeof(behind);
  for (std::size_t end = code.size() - kCallBytes; end > kLoadBytes; --end) {
    const Code before = code.first(end);
    const std::uint64_t from = loaded_from(before, kToRsi, callers_sp, reg(registers, REG_RBP));
    if (from != 0) return number_at(from, reader);
    for (const Copy& copy : kCopiesToRsi) {
      if (ends_in(before, copy.code)) return to_call_number(reg(registers, copy.from));
    }
  }
  return -1;
}

// No instruction of the code has the number: a caller passed it, or the stack has it.
std::int32_t passed_number(const gregset_t& registers, Code code,
                           unwind::PageProbeReader& reader) noexcept {
  if (ends_in(code, kCancellable)) return number_of_caller(registers, reader);
  return number_at(loaded_from(code.first(code.size() - unwind::kSyscallBytes), kToRax,
                               reg(registers, REG_RSP), reg(registers, REG_RBP)),
                   reader);
}

}  // namespace

std::int32_t decode_call_number(std::span<const std::uint8_t, kCodeBytes> code) noexcept {
  if (code[kCodeBytes - 2] != 0x0f || code[kCodeBytes - 1] != 0x05) return -1;
  const Code before = code.first(kCodeBytes - unwind::kSyscallBytes);
  std::int32_t number = number_set_at_end(before);
  for (const Filler& last : kFillers) {
    if (number >= 0) return number;
    if (!ends_in(before, last)) continue;
    const Code rest = before.first(before.size() - last.size);
    number = number_set_at_end(rest);
    for (const Filler& first : kFillers) {
      if (number >= 0) return number;
      if (ends_in(rest, first)) number = number_set_at_end(rest.first(rest.size() - first.size));
    }
  }
  return number >= 0 ? number : futex_by_ecx(before);
}

bool read_call_number(const gregset_t& registers, std::int32_t& number) noexcept {
  std::array<std::uint8_t, kCodeBytes> code;
  unwind::PageProbeReader reader;
  if (!read_code(reg(registers, REG_RIP), code, reader)) return false;
  if (code[kCodeBytes - 2] != 0x0f || code[kCodeBytes - 1] != 0x05) return false;
  number = decode_call_number(code);
  if (number < 0) number = passed_number(registers, code, reader);
  return true;
}

}  // namespace swipr::handler
