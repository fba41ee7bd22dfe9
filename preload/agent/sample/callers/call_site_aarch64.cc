#include <array>

#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/callers/plt_entry_aarch64.h"
#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {

namespace {

using machine::kInstructionBytes;

// Source: Arm ARM, C6.2: ADRP, LDR (immediate, 64 bits, unsigned offset), BLR. A PLT entry is
// [bti c]; adrp x16,page; ldr x17,[x16,#offset]; add; br x17.
constexpr std::uint32_t kBtiC = 0xd503245f;
bool is_adrp_x16(std::uint32_t code) noexcept { return (code & 0x9f00001f) == 0x90000010; }
bool is_ldr_x17_x16(std::uint32_t code) noexcept { return (code & 0xffc003ff) == 0xf9400211; }
bool is_call_by_register(std::uint32_t code) noexcept {
  return (code & 0xfffffc1f) == 0xd63f0000 ||  // blr
         (code & 0xfefff800) == 0xd63f0800;    // blraa and similar
}

template <std::size_t kCount>
bool read_instructions(const ProcMemory& memory, std::uint64_t address,
                       std::array<std::uint32_t, kCount>& out) noexcept {
  return memory.read(address, std::as_writable_bytes(std::span(out)));
}

// `callee` says whether an address is the callee's.
template <typename Callee>
CallSite find_call(const ProcMemory& memory, std::uint64_t return_address,
                   const Callee& callee) noexcept {
  std::array<std::uint32_t, 1> code{};
  if (!read_instructions(memory, return_address - kInstructionBytes, code)) return {};
  if (is_call_by_register(code[0])) return {.kind = CallSite::Kind::kComputed};
  const std::uint64_t target =
      unwind::direct_call_target(std::uint64_t{code[0]} << 32, return_address);
  if (target == 0) return {};
  if (callee(target)) return {.kind = CallSite::Kind::kDirect, .target = target};
  const std::uint64_t behind_plt = plt_target(memory, target);
  if (behind_plt == 0 || !callee(behind_plt)) return {};
  return {.kind = CallSite::Kind::kDirect, .target = behind_plt};
}

}  // namespace

std::uint64_t plt_target(const ProcMemory& memory, std::uint64_t entry) noexcept {
  std::array<std::uint32_t, 3> code{};
  if (!read_instructions(memory, entry, code)) return 0;
  const std::size_t at = code[0] == kBtiC ? 1 : 0;
  if (!is_adrp_x16(code[at]) || !is_ldr_x17_x16(code[at + 1])) return 0;
  const std::uint64_t offset = (code[at + 1] >> 10 & 0xfff) * sizeof(std::uint64_t);
  return read_pointer(memory,
                      unwind::adrp_result(code[at], entry + at * kInstructionBytes) + offset);
}

CallSite find_call_of(const ProcMemory& memory, std::uint64_t return_address,
                      std::uint64_t function) noexcept {
  return find_call(memory, return_address,
                   [function](std::uint64_t address) { return address == function; });
}

bool follows_call(const ProcMemory& memory, const unwind::CodeMap& map,
                  std::uint64_t return_address) noexcept {
  const auto is_code = [&map](std::uint64_t address) { return map.find(address) != nullptr; };
  return find_call(memory, return_address, is_code).kind != CallSite::Kind::kNone;
}

CallSite find_call_into(const ProcMemory& memory, std::uint64_t return_address,
                        const CodeGap& gap) noexcept {
  return find_call(memory, return_address,
                   [&gap](std::uint64_t address) { return gap.contains(address); });
}

}  // namespace swipr::agent
