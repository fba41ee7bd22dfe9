// Collects the distinct rules of one table: a million rows share a few hundred of them.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "preload/unwind/base/code_hash.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

class RuleSet {
 public:
  static constexpr std::uint16_t kNone = 0;               // the rule with kRuleNone, always there
  static constexpr std::uint32_t kNoMemory = UINT32_MAX;  // in place of a rule's number
  static constexpr std::size_t kMaxRules = 65536;

  // False: no memory.
  bool prepare() noexcept;

  // The number of an equal rule; kNone if there are too many, because a missing rule is better than
  // a wrong one. `locations` of an extended rule are copied.
  std::uint32_t intern(Rule rule, std::span<const Location> locations) noexcept;

  // The same for a plain rule.
  std::uint32_t intern_plain(std::uint64_t cfa_word, std::uint64_t saved_word) noexcept {
    const std::uint16_t index = slots_[plain_hash(cfa_word, saved_word) & (slots_.size() - 1)];
    const auto words = std::bit_cast<RuleWords>(rules_[index]);  // rule 0 is not plain
    if (words[0] == cfa_word && words[1] == saved_word) [[likely]]
      return index;
    return intern(std::bit_cast<Rule>(RuleWords{cfa_word, saved_word}), {});
  }

  // Position in the pool of a copy of these bytes. nullopt: no memory.
  std::optional<std::int32_t> intern_expression(std::span<const std::byte> bytes) noexcept;

  std::span<const Rule> rules() const noexcept { return rules_.span(); }
  std::span<const Location> locations() const noexcept { return locations_.span(); }
  std::span<const std::byte> pool() const noexcept { return pool_.span(); }

 private:
  struct Known {  // an expression
    std::uint32_t position;
    std::uint32_t bytes;
  };
  static constexpr std::size_t kKnownExpressions = 256;
  static constexpr std::size_t kFirstSlots = 1024;

  static std::uint64_t plain_hash(std::uint64_t cfa_word, std::uint64_t saved_word) noexcept {
    return hash_word(cfa_word, saved_word);
  }
  bool is_equal(const Rule& known, const Rule& rule,
                std::span<const Location> locations) const noexcept;
  bool grow() noexcept;
  std::uint64_t hash(const Rule& rule, std::span<const Location> locations) const noexcept;

  GrowableArray<Rule, 255> rules_;
  GrowableArray<Location, 64> locations_;
  GrowableArray<std::byte, 512> pool_;
  // Open addressing; 0 = free, as rule 0 is never looked up.
  GrowableArray<std::uint16_t, kFirstSlots> slots_;
  // Positions of bytes that may be equal. A lost entry only causes a second copy.
  std::array<Known, kKnownExpressions> expressions_{};
};

}  // namespace swipr::unwind
