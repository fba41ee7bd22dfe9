// Context: anywhere, signal handlers included.
#pragma once

#include <cstdint>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

// A plain rule in 25 bits. Rules with larger numbers are rare and not cached.
class PackedRule {
 public:
  static constexpr unsigned kBits = 25;

  constexpr explicit PackedRule(std::uint64_t bits) noexcept : bits_(bits) {}
  // False: does not fit.
  static constexpr bool pack(const Rule& rule, std::uint64_t& bits) noexcept {
    std::uint64_t frame = 0;
    std::uint64_t base = 0;
    if (rule.flags != 0 || rule.cfa_offset < 0 || rule.cfa_offset % kWord != 0 ||
        rule.cfa_offset / kWord > kMaxCfaWords || !pack_slot(rule.saved_frame, frame) ||
        !pack_slot(rule.saved_base, base)) {
      return false;
    }
    const std::uint64_t reg = rule.cfa_register == kStackRegister   ? 0
                              : rule.cfa_register == kFrameRegister ? 1
                                                                    : 2;
    bits =
        static_cast<std::uint64_t>(rule.cfa_offset / kWord) | frame << 13 | base << 18 | reg << 23;
    return true;
  }

  constexpr std::uint64_t cfa_offset() const noexcept { return (bits_ & kMaxCfaWords) * kWord; }
  constexpr unsigned cfa_register() const noexcept {
    const std::uint64_t reg = bits_ >> 23 & 3;
    return reg == 0 ? kStackRegister : reg == 1 ? kFrameRegister : kBaseRegister;
  }
  // How far below the CFA the caller's value lies; 0: still in the register.
  constexpr std::uint64_t saved_frame() const noexcept { return (bits_ >> 13 & kMaxSlot) * kWord; }
  constexpr std::uint64_t saved_base() const noexcept { return (bits_ >> 18 & kMaxSlot) * kWord; }

 private:
  static constexpr int kWord = 8;
  static constexpr int kMaxCfaWords = (1 << 13) - 1;
  static constexpr int kMaxSlot = (1 << 5) - 1;

  static constexpr bool pack_slot(std::int16_t offset, std::uint64_t& slot) noexcept {
    slot = 0;
    if (offset == Rule::kKept) return true;
    if (offset >= 0 || offset % kWord != 0 || -offset / kWord > kMaxSlot) return false;
    slot = static_cast<std::uint64_t>(-offset / kWord);
    return true;
  }

  std::uint64_t bits_;
};

}  // namespace swipr::unwind
