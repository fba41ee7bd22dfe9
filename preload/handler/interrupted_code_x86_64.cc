#include <algorithm>
#include <cerrno>

#include "preload/handler/continued_transfer_x86_64.h"
#include "preload/handler/interrupted_code.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::handler {

namespace {

constexpr std::size_t kSyscallBytes = 2;  // 0F 05
constexpr int kArgumentRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};

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

std::uint64_t reg(const ucontext_t& context, int number) noexcept {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[number]);
}
void set_reg(ucontext_t& context, int number, std::uint64_t value) noexcept {
  context.uc_mcontext.gregs[number] = static_cast<greg_t>(value);
}

bool has_just_returned(const ucontext_t& context) noexcept {
  return reg(context, REG_RCX) == reg(context, REG_RIP);
}

// continued_transfer_x86_64.h, by the arguments that move on.
struct Continuation {
  Rest rest;
  const char* entry;
  const char* returned;
};
constexpr Continuation kContinuations[] = {
    {{1, 2}, &swipr_continued_transfer, &swipr_continued_transfer_returned},
    {{0, 1}, &swipr_continued_fill, &swipr_continued_fill_returned},
    {{-1, 3}, &swipr_continued_sendfile, &swipr_continued_sendfile_returned},
    {{-1, 4}, &swipr_continued_copy, &swipr_continued_copy_returned},
};

const Continuation* continuation_at(std::uint64_t address) noexcept {
  for (const Continuation& each : kContinuations) {
    if (address == reinterpret_cast<std::uint64_t>(each.entry)) return &each;
  }
  return nullptr;
}

// Modulo 2^64: also back.
void move_on(ucontext_t& context, Rest rest, std::uint64_t done) noexcept {
  const int count = kArgumentRegisters[rest.count];
  set_reg(context, count, reg(context, count) - done);
  if (rest.buffer < 0) return;
  const int buffer = kArgumentRegisters[rest.buffer];
  set_reg(context, buffer, reg(context, buffer) + done);
}

// Code that the thread has just executed: unmapping it would crash the thread in any case.
bool read_code(std::uint64_t end, std::array<std::uint8_t, kCodeBytes>& code) noexcept {
  unwind::PageProbeReader reader;
  for (std::size_t at = 0; at < kCodeBytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    if (!reader.read_word(end - kCodeBytes + at, word)) return false;
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&word), sizeof(word), &code[at]);
  }
  return true;
}

}  // namespace

std::int32_t decode_call_number(std::span<const std::uint8_t, kCodeBytes> code) noexcept {
  if (code[kCodeBytes - 2] != 0x0f || code[kCodeBytes - 1] != 0x05) return -1;
  const Code before = code.first(kCodeBytes - kSyscallBytes);
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
  return number;
}

bool read_call(const ucontext_t& context, SystemCall& call) noexcept {
  call.result = static_cast<std::int64_t>(reg(context, REG_RAX));
  if (!has_just_returned(context) || (call.result != -EINTR && call.result <= 0)) return false;
  std::array<std::uint8_t, kCodeBytes> code;
  if (!read_code(reg(context, REG_RIP), code)) return false;
  if (code[kCodeBytes - 2] != 0x0f || code[kCodeBytes - 1] != 0x05) return false;
  call.number = decode_call_number(code);
  for (std::size_t at = 0; at < call.arguments.size(); ++at) {
    call.arguments[at] = reg(context, kArgumentRegisters[at]);
  }
  return true;
}

void repeat_call(ucontext_t& context, const SystemCall& call) noexcept {
  set_reg(context, REG_RAX, static_cast<std::uint64_t>(call.number));
  set_reg(context, REG_RIP, reg(context, REG_RIP) - kSyscallBytes);
  set_reg(context, REG_RCX, kRepeatMark);
}

void continue_transfer(ucontext_t& context, const SystemCall& call) noexcept {
  const Rest rest = rest_of(call);
  for (const Continuation& each : kContinuations) {
    if (each.rest.count != rest.count) continue;
    move_on(context, each.rest, static_cast<std::uint64_t>(call.result));
    set_reg(context, REG_R11, static_cast<std::uint64_t>(call.number));
    set_reg(context, REG_RIP, reinterpret_cast<std::uint64_t>(each.entry));
  }
}

bool is_continued_transfer(const ucontext_t& context) noexcept {
  return std::any_of(std::begin(kContinuations), std::end(kContinuations), [&](const auto& each) {
    return reg(context, REG_RIP) == reinterpret_cast<std::uint64_t>(each.returned);
  });
}

void let_transfer_go_on(ucontext_t& context) noexcept { set_reg(context, REG_RCX, 0); }

void leave_to_program(ucontext_t& context) noexcept {
  if (reg(context, REG_RCX) == kRepeatMark) {
    set_reg(context, REG_RAX, static_cast<std::uint64_t>(-EINTR));
    set_reg(context, REG_RIP, reg(context, REG_RIP) + kSyscallBytes);
  } else if (const Continuation* begun = continuation_at(reg(context, REG_RIP))) {
    move_on(context, begun->rest, std::uint64_t{0} - reg(context, REG_RAX));
    set_reg(context, REG_RIP, reg(context, REG_RCX));
  } else if (!has_just_returned(context)) {
    return;
  }
  set_reg(context, REG_RCX, kForeignMark);
}

}  // namespace swipr::handler
