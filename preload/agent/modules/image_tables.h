// The unwind tables of one image: one for each part of its code, built when a walk needs it. The
// stacks of a program contain only a few parts of few libraries.
// Context: control thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

class ImageTables {
 public:
  // One part, without a table.
  ImageTables() noexcept { tables_[0] = nullptr; }
  // Parts that are not built. One part if the image has no search table of its FDEs, or few FDEs:
  // then the file may have more (.debug_frame).
  explicit ImageTables(const unwind::BuildResult& image) noexcept;

  unsigned count() const noexcept { return count_; }
  bool is_divided() const noexcept { return count_ != 1; }
  // The table of the code at an image address.
  unsigned index_of(std::uint64_t address) const noexcept {
    const std::uint64_t part = address < begin_ ? 0 : (address - begin_) >> shift_;
    return static_cast<unsigned>(std::min<std::uint64_t>(part, count_ - 1));
  }
  // Image addresses. The first part includes everything before it, the last one everything after
  // it.
  Range<std::uint64_t> part(unsigned index) const noexcept {
    const auto boundary = [this](std::uint64_t at) { return begin_ + (at << shift_); };
    return {index == 0 ? 0 : boundary(index),
            index + 1 == count_ ? UINT64_MAX : boundary(index + 1)};
  }

  const unwind::UnwindTable* table(unsigned index) const noexcept { return tables_[index]; }
  bool is_built(unsigned index) const noexcept { return tables_[index] != &unwind::kUnbuiltTable; }
  // `is_new`: in no file.
  void set(unsigned index, const unwind::UnwindTable* table, bool is_new) noexcept {
    tables_[index] = table;
    new_ |= std::uint32_t{is_new} << index;
  }
  // The table with its own memory, which the caller owns from now on; nullptr: there is none.
  const unwind::UnwindTable* release(unsigned index, bool& is_new) noexcept;
  bool has_memory() const noexcept;
  // Known to have none.
  bool has_no_table() const noexcept { return !is_divided() && tables_[0] == nullptr; }

 private:
  static constexpr unsigned kMaxParts = 32;
  static constexpr unsigned kLeastShift = 16;  // 64 KiB of code: some 200 functions
  static constexpr std::uint64_t kLeastFdes = 64;

  std::uint64_t begin_ = 0;
  unsigned shift_ = 63;
  unsigned count_ = 1;
  std::uint32_t new_ = 0;  // a bit of each
  std::array<const unwind::UnwindTable*, kMaxParts> tables_{};
};

}  // namespace swipr::agent
