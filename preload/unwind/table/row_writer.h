// Turns FDEs, sorted by address, into rows.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstdint>
#include <span>

#include "preload/unwind/base/growable_array.h"

namespace swipr::unwind {

class RowWriter {
 public:
  // False: no memory. Addresses are image addresses, at most 4 GiB above the first FDE's. If FDEs
  // overlap, the one that starts later applies, as in libgcc. `max_rows`: limit of rows until
  // end_fde.
  bool begin_fde(std::uint64_t start, std::size_t max_rows) noexcept;
  void add(std::uint64_t address, std::uint16_t rule) noexcept {
    const auto relative = static_cast<std::uint32_t>(address - base_);
    if (!addresses_.empty() && addresses_.back() == relative) drop_from(relative);
    if (!rules_.empty() && rules_.back() == rule) return;
    addresses_.push_back_reserved(relative);
    rules_.push_back_reserved(rule);
  }
  void end_fde(std::uint64_t end) noexcept;  // the following code has no CFI until an FDE begins

  std::uint64_t base() const noexcept { return base_; }
  std::uint64_t covered_bytes() const noexcept { return covered_bytes_; }
  std::span<const std::uint32_t> addresses() const noexcept { return addresses_.span(); }
  std::span<const std::uint16_t> rules() const noexcept { return rules_.span(); }
  std::span<const std::uint32_t> function_starts() const noexcept { return starts_.span(); }

 private:
  void drop_from(std::uint32_t relative) noexcept;

  std::uint64_t base_ = 0;  // the address of the first FDE
  std::uint64_t covered_bytes_ = 0;
  static constexpr std::size_t kInlineRows = 8192;
  GrowableArray<std::uint32_t, kInlineRows> addresses_;
  GrowableArray<std::uint16_t, kInlineRows> rules_;
  GrowableArray<std::uint32_t, 1024> starts_;
};

}  // namespace swipr::unwind
