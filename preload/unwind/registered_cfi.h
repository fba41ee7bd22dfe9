// CFI that the program registers for code it makes at run time (__register_frame): tables that lie
// anywhere in memory, copied one after the other and compiled together, because each may describe a
// handful of instructions and a generator registers thousands.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/growable_array.h"
#include "preload/unwind/table_builder.h"

namespace swipr::unwind {

class RegisteredCfi {
 public:
  // Copies the CIEs and FDEs at a run-time address, up to the entry of length zero that ends them.
  // False: there is no such table (unmapped, longer than 16 MiB, all tables longer than 256 MiB),
  // or no memory; what was added before stays.
  bool add(std::uint64_t address, ImageReader reader) noexcept;
  // A table of the code within `text`, by run-time addresses.
  BuildStatus build(Range<std::uint64_t> text, const UnwindTable*& table) const noexcept;

 private:
  struct Part {
    std::uint64_t address = 0;
    std::size_t begin = 0;  // in bytes_
  };
  GrowableArray<std::byte> bytes_;
  GrowableArray<Part> parts_;
};

}  // namespace swipr::unwind
