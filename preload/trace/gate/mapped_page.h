// A page of code that is exchanged as a whole: a copy of it is mapped, changed, and moved over it.
// Context: control thread. Imports nothing, as gate.h says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::trace {

// The mapping of the same place of the same file, or of none, with the same bytes.
struct PageCopy {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // the kernel's page
};

enum class CopyStatus : std::uint8_t { kCopied, kUnreadable, kNotMapped };

// Writable, and not executable. `any_file`: if the file is not found at its path any more, the copy
// belongs to none.  Blocks: /proc/self/maps is read twice.
CopyStatus copy_page(std::uint64_t code, bool any_file, PageCopy& out) noexcept;
// Each thread executes the old bytes or the new ones from now on. False: the kernel refuses it, and
// nothing has changed.
bool move_over(const PageCopy& copy, std::uint64_t code) noexcept;
void drop(const PageCopy& copy) noexcept;

}  // namespace swipr::trace
