#include "cli/profile/tables/lock_places.h"

#include <array>
#include <charconv>

namespace swipr::profile {

namespace {

std::string hexadecimal(std::uint64_t address) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

}  // namespace

std::string lock_text(std::string_view kind, const Locks& locks, std::string_view site) {
  std::string text;
  if (locks.count > 1 || (locks.count != 0 && locks.has_more)) {
    text.append(std::to_string(locks.count)).append(" ").append(kind);
    text.append(kind.ends_with('x') ? "es" : "s").append(locks.has_more ? " or more" : "");
  } else {
    text = kind;
    const std::string& name = locks.variable.empty() ? locks.address : locks.variable;
    if (!name.empty()) text.append(" ").append(name);
  }
  if (!site.empty()) text.append(" in ").append(site);
  return text;
}

void LockPlaces::add(std::uint32_t process, const Stack& stack) {
  if (!stack.lock) return;
  if (*stack.lock == 0) {
    has_more_ = true;
  } else {
    places_.insert({process, *stack.lock});
  }
}

Locks LockPlaces::locks(const Names& names) const {
  Locks locks{.count = places_.size(), .has_more = has_more_};
  if (places_.size() != 1 || has_more_) return locks;
  locks.address = hexadecimal(places_.begin()->second);
  const auto variable = names.variables.find(*places_.begin());
  if (variable != names.variables.end()) locks.variable = variable->second;
  return locks;
}

}  // namespace swipr::profile
