#include "preload/unwind/table/rule_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace swipr::unwind {

bool RuleSet::prepare() noexcept {
  return slots_.resize(kFirstSlots) && rules_.push_back(Rule{.flags = kRuleNone});
}

std::uint64_t RuleSet::hash(const Rule& rule, std::span<const Location> locations) const noexcept {
  const auto words = std::bit_cast<RuleWords>(rule);
  std::uint64_t result = plain_hash(words[0], words[1]);
  for (const Location& location : locations) {
    result = hash_word(result, std::bit_cast<std::uint64_t>(location));
  }
  return result;
}

bool RuleSet::is_equal(const Rule& known, const Rule& rule,
                       std::span<const Location> locations) const noexcept {
  if (locations.empty()) return std::bit_cast<RuleWords>(known) == std::bit_cast<RuleWords>(rule);
  Rule candidate = known;
  candidate.first_location = 0;
  if (std::bit_cast<RuleWords>(candidate) != std::bit_cast<RuleWords>(rule)) return false;
  const Location* const other = &locations_[known.first_location];
  return std::equal(locations.begin(), locations.end(), other);
}

// Doubles the slots and inserts all rules again.
bool RuleSet::grow() noexcept {
  const std::size_t count = slots_.size() * 2;
  if (!slots_.resize(count)) return false;
  std::memset(slots_.span().data(), 0, slots_.span().size_bytes());
  for (std::size_t index = 1; index < rules_.size(); ++index) {
    Rule rule = rules_[index];
    const auto locations = this->locations().subspan(rule.first_location, rule.location_count);
    rule.first_location = 0;
    std::size_t slot = hash(rule, locations) & (count - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (count - 1);
    slots_[slot] = static_cast<std::uint16_t>(index);
  }
  return true;
}

std::uint32_t RuleSet::intern(Rule rule, std::span<const Location> locations) noexcept {
  rule.first_location = 0;
  rule.location_count = static_cast<std::uint8_t>(locations.size());
  if (rules_.size() * 4 > slots_.size() && !grow()) return kNoMemory;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash(rule, locations) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (is_equal(rules_[slots_[slot]], rule, locations)) return slots_[slot];
  }
  if (rules_.size() == kMaxRules) return kNone;
  const auto index = static_cast<std::uint16_t>(rules_.size());
  if (!locations.empty()) rule.first_location = static_cast<std::uint32_t>(locations_.size());
  if (!locations_.append(locations) || !rules_.push_back(rule)) return kNoMemory;
  slots_[slot] = index;
  return index;
}

std::optional<std::int32_t> RuleSet::intern_expression(std::span<const std::byte> bytes) noexcept {
  std::uint64_t hash = bytes.size();
  for (const std::byte byte : bytes) {
    hash = hash_word(hash, std::to_integer<std::uint64_t>(byte));
  }
  Known& known = expressions_[hash % kKnownExpressions];
  if (!bytes.empty() && known.bytes == bytes.size() &&
      std::memcmp(&pool_[known.position], bytes.data(), bytes.size()) == 0) {
    return static_cast<std::int32_t>(known.position);
  }
  const std::size_t position = pool_.size();
  if (position > INT32_MAX - bytes.size() || !pool_.append(bytes)) return std::nullopt;
  known = {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(bytes.size())};
  return static_cast<std::int32_t>(position);
}

}  // namespace swipr::unwind
