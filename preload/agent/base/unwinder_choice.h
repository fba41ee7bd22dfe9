// The unwinder of a recording (SWIPR_UNWINDER).
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

enum class UnwinderChoice : std::uint8_t {
  kSwipr,      // swipr's tables
  kLibunwind,  // the system's libunwind
  kCompare,    // swipr's tables, and differences from libunwind
};

constexpr std::string_view name_of(UnwinderChoice choice) noexcept {
  constexpr std::string_view kNames[] = {"swipr", "libunwind", "compare"};
  return kNames[static_cast<unsigned>(choice)];
}

// Empty: the default. False: no such name.
constexpr bool find_unwinder(std::string_view name, UnwinderChoice& out) noexcept {
  using enum UnwinderChoice;
  if (name.empty()) out = kSwipr;
  bool found = name.empty();
  for (const UnwinderChoice choice : {kSwipr, kLibunwind, kCompare}) {
    if (name != name_of(choice)) continue;
    out = choice;
    found = true;
  }
  return found;
}

}  // namespace swipr::agent
