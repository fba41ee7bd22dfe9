// Included by pool.cc only.
#pragma once

#include <cpuid.h>
#include <sys/mman.h>

#include <cstring>
#include <span>

#include "preload/trace/calls/pool.h"

namespace swipr::trace {

namespace {

constexpr std::size_t kCodePageBytes = 4096;

void put(std::uint8_t*& at, std::span<const std::uint8_t> bytes) noexcept {
  std::memcpy(at, bytes.data(), bytes.size());
  at += bytes.size();
}

void put_word(std::uint8_t*& at, std::uint32_t value) noexcept {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

// A distance from the end of its four bytes.
void put_distance(std::uint8_t*& at, const void* target) noexcept {
  const auto distance = reinterpret_cast<std::uint64_t>(target) -
                        (reinterpret_cast<std::uint64_t>(at) + sizeof(std::uint32_t));
  put_word(at, static_cast<std::uint32_t>(distance));
}

constexpr std::uint8_t kPush[] = {0x68};
constexpr std::uint8_t kJump[] = {0xe9};
constexpr std::uint8_t kCallThrough[] = {0xff, 0x15};
constexpr std::uint8_t kTrap = 0xcc;

void put_push_and_jump(std::uint8_t*& at, std::uint32_t number, void (*target)()) noexcept {
  put(at, kPush);
  put_word(at, number);
  put(at, kJump);
  put_distance(at, reinterpret_cast<const void*>(target));
}

void write_thunks() noexcept {
  std::memset(swipr_trace_thunks, kTrap, kPages * kCodePageBytes);
  for (std::uint32_t call = 0; call < kCallCount; ++call) {
    std::uint8_t* at = swipr_trace_thunks + call * kThunkBytes;
    if (call % kThunksInPage == 0) {  // the header
      const auto* const table = reinterpret_cast<const std::uint8_t*>(&swipr_trace_returns[call]);
      put_word(at, static_cast<std::uint32_t>(table - at));
      continue;
    }
    put(at, kCallThrough);
    put_distance(at, &swipr_trace_returns[call].copy);
    put_push_and_jump(at, call, &swipr_trace_common_exit);
  }
}

void write_entries() noexcept {
  std::memset(swipr_trace_entries, kTrap, SWIPR_TRACE_ENTRY_BYTES);
  for (std::uint32_t probe = 0; probe < kProbeCount; ++probe) {
    std::uint8_t* at = swipr_trace_entries + probe * kEntryBytes;
    put_push_and_jump(at, probe, &swipr_trace_common_entry);
  }
}

// CPUID 80000007, EDX bit 8: the time stamp counter has one rate, and runs in all sleep states.
// CPUID 80000001, ECX bit 0: LAHF and SAHF. Source: Intel SDM volume 2, CPUID.
bool has_bit(unsigned leaf, bool in_edx, unsigned bit) noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && ((in_edx ? edx : ecx) >> bit & 1) != 0;
}

inline PoolStatus check_processor() noexcept {
  if (!has_bit(0x80000007, true, 8)) return PoolStatus::kNoClock;
  return has_bit(0x80000001, false, 0) ? PoolStatus::kReady : PoolStatus::kNoInstructions;
}

inline void write_code() noexcept {
  write_thunks();
  write_entries();
}

inline bool make_code_executable() noexcept {
  constexpr int kCode = PROT_READ | PROT_EXEC;
  return ::mprotect(swipr_trace_entries, SWIPR_TRACE_ENTRY_BYTES, kCode) == 0 &&
         ::mprotect(swipr_trace_thunks, kPages * kCodePageBytes, kCode) == 0;
}

}  // namespace

std::uint64_t entry_of(std::uint32_t probe) noexcept {
  return reinterpret_cast<std::uint64_t>(swipr_trace_entries + probe * kEntryBytes);
}

}  // namespace swipr::trace
