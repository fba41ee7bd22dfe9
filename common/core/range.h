// Half-open range [begin, end).
// Context: anywhere, signal handlers included.
#pragma once

namespace swipr {

template <typename T>
struct Range {
  T begin{};
  T end{};

  constexpr bool contains(T value) const { return begin <= value && value < end; }
  constexpr bool empty() const { return !(begin < end); }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

}  // namespace swipr
