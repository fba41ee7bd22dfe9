// Maps return addresses to plain rules; a walk searches here first. One word per entry, written and
// read atomically, so that any number of handlers share it without a lock: an entry is correct or
// absent. It belongs to one code map and is empty when the map is made.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/unwind/walk/loop/packed_rule.h"

namespace swipr::unwind {

class RuleCache {
 public:
  // 0: not there. Otherwise a PackedRule's bits and more above them.
  SWIPR_SIGNAL_SAFE std::uint64_t find(std::uint64_t return_address) const noexcept {
    const std::uint64_t entry =
        __atomic_load_n(&entries_[index_of(return_address)], __ATOMIC_RELAXED);
    return entry >> PackedRule::kBits == key_of(return_address) ? entry : 0;
  }
  SWIPR_SIGNAL_SAFE void put(std::uint64_t return_address, const Rule& rule) noexcept {
    std::uint64_t bits = 0;
    if (return_address >> kAddressBits != 0 || !PackedRule::pack(rule, bits)) return;
    __atomic_store_n(&entries_[index_of(return_address)],
                     key_of(return_address) << PackedRule::kBits | bits, __ATOMIC_RELAXED);
  }

 private:
  static constexpr unsigned kIndexBits = 10;
  static constexpr unsigned kAddressBits = 48;
  static_assert(kAddressBits - kIndexBits + 1 + PackedRule::kBits == 64);

  // Index and key together are the whole address, so no two addresses are confused.
  static constexpr std::size_t index_of(std::uint64_t address) noexcept {
    return (address ^ address >> kIndexBits) & ((1u << kIndexBits) - 1);
  }
  static constexpr std::uint64_t key_of(std::uint64_t address) noexcept {
    return (address >> kIndexBits) ^ std::uint64_t{1} << (kAddressBits - kIndexBits);
  }

  std::array<std::uint64_t, 1u << kIndexBits> entries_{};
};

}  // namespace swipr::unwind
