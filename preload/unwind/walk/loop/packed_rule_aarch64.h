// Context: anywhere, signal handlers included.
#pragma once

#include <cstdint>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

// A plain rule in 25 bits. Rules with larger numbers are rare and not cached; rules that keep the
// return address in x30 apply to innermost frames only, which are not cached either. The frame
// pointer is saved directly below the return address (AAPCS64, 6.4.6), or not at all.
class PackedRule {
 public:
  static constexpr unsigned kBits = 25;

  constexpr explicit PackedRule(std::uint64_t bits) noexcept : bits_(bits) {}
  // False: does not fit.
  static constexpr bool pack(const Rule& rule, std::uint64_t& bits) noexcept {
    const bool saves_frame = rule.saved_frame != Rule::kKept;
    if (rule.flags != 0 || rule.cfa_offset < 0 || rule.cfa_offset % kUnit != 0 ||
        rule.cfa_offset / kUnit > kMaxCfaUnits || rule.saved_base == Rule::kKept ||
        rule.saved_base >= 0 || rule.saved_base % kWord != 0 ||
        -rule.saved_base / kWord > kMaxSlot ||
        (saves_frame && rule.saved_frame != rule.saved_base - kWord)) {
      return false;
    }
    bits = static_cast<std::uint64_t>(rule.cfa_offset / kUnit) |
           static_cast<std::uint64_t>(-rule.saved_base / kWord) << 11 |
           std::uint64_t{saves_frame} << 23 |
           std::uint64_t{rule.cfa_register == kFrameRegister} << 24;
    return true;
  }

  constexpr std::uint64_t cfa_offset() const noexcept { return (bits_ & kMaxCfaUnits) * kUnit; }
  constexpr unsigned cfa_register() const noexcept {
    return (bits_ >> 24 & 1) != 0 ? kFrameRegister : kStackRegister;
  }
  // How far below the CFA the caller's value lies; 0: still in the register.
  constexpr std::uint64_t saved_base() const noexcept { return (bits_ >> 11 & kMaxSlot) * kWord; }
  constexpr std::uint64_t saved_frame() const noexcept {
    return (bits_ >> 23 & 1) != 0 ? saved_base() + kWord : 0;
  }

 private:
  static constexpr int kWord = 8;
  static constexpr int kUnit = 16;  // alignment of sp
  static constexpr int kMaxCfaUnits = (1 << 11) - 1;
  static constexpr int kMaxSlot = (1 << 12) - 1;

  std::uint64_t bits_;
};

}  // namespace swipr::unwind
