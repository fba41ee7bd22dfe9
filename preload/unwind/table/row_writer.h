// Turns FDEs, sorted by address, into rows.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstdint>
#include <span>

#include "preload/unwind/base/growable_array.h"

namespace swipr::unwind {

class RowWriter {
 public:
  // `base`: the address of the first FDE.
  explicit RowWriter(std::uint64_t base) noexcept : base_(base) {}

  // False: no memory. Addresses are image addresses, at most 4 GiB above the base. If FDEs overlap,
  // the one that starts later applies, as in libgcc. `max_rows`: limit of rows until end_fde.
  bool begin_fde(std::uint64_t start, std::size_t max_rows) noexcept;
  void add(std::uint64_t address, std::uint16_t rule) noexcept {
    const auto relative = static_cast<std::uint32_t>(address - base_);
    if (!addresses_.empty() && addresses_.back() == relative) drop_from(relative);
    if (!rules_.empty() && rules_.back() == rule) return;
    addresses_.push_back_reserved(relative);
    rules_.push_back_reserved(rule);
  }
  void end_fde(std::uint64_t end) noexcept;  // the following code has no CFI until an FDE begins

  // The memory of addresses() and rules(). The caller owns it from now on.
  Mapping release_addresses() noexcept { return addresses_.release(); }
  Mapping release_rules() noexcept { return rules_.release(); }

  std::uint64_t base() const noexcept { return base_; }
  std::uint64_t covered_bytes() const noexcept { return covered_bytes_; }
  std::span<const std::uint32_t> addresses() const noexcept { return addresses_.span(); }
  std::span<const std::uint16_t> rules() const noexcept { return rules_.span(); }
  std::span<const std::uint32_t> function_starts() const noexcept { return starts_.span(); }

 private:
  void drop_from(std::uint32_t relative) noexcept;

  std::uint64_t base_;
  std::uint64_t covered_bytes_ = 0;
  GrowableArray<std::uint32_t> addresses_;
  GrowableArray<std::uint16_t> rules_;
  GrowableArray<std::uint32_t> starts_;
};

}  // namespace swipr::unwind
