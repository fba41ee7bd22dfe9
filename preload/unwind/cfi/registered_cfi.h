// CFI that the program registers for code that it generates at run time (__register_frame, GDB's
// JIT interface): tables anywhere in memory, which are copied and compiled together, because each
// may describe only a few instructions and a code generator registers thousands.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/code_checksum.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/cfi/cfi_section.h"

namespace swipr::unwind {

class UnwindTable;

// Address of the bytes of a section, and the address for which they are relocated.
struct CfiSource {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  CfiFormat format = CfiFormat::kEhFrame;
};

class RegisteredCfi {
 public:
  // Copies the CIEs and FDEs at a run-time address, up to the entry of length zero. False: no valid
  // table (unmapped, longer than 16 MiB, all tables longer than 256 MiB), or no memory; tables that
  // were added before stay.
  bool add(std::uint64_t address, ImageReader reader) noexcept;
  // Copies a section whose code needs checksums, because its removal is not announced. False as
  // above.
  bool add_unreported(const CfiSource& source, ImageReader reader) noexcept;
  // Makes a table of the code within `text`, by run-time addresses.
  BuildStatus build(Range<std::uint64_t> text, const UnwindTable*& table) const noexcept;
  // Makes checksums of all code of add_unreported's sections. False: no memory.
  bool build_checksums(ImageReader reader, GrowableArray<CodeChecksum>& out) noexcept;
  // Sorts these checksums. Those of sections that have changed since they were added, or of all if
  // not even the list of sections is the same, will never match: the code may have been replaced
  // between the two readings. `is_same_list` must be found out after build_checksums.
  void confirm_checksums(bool is_same_list, ImageReader reader,
                         std::span<CodeChecksum> checksums) const noexcept;

 private:
  struct Part {
    CfiSource source;
    std::size_t begin = 0;  // in bytes_
    bool is_reported = true;
    Range<std::size_t> checksums{};  // before they are sorted
  };
  CfiSection section(std::size_t part) const noexcept;
  bool add_checksums(std::size_t part, ImageReader reader,
                     GrowableArray<CodeChecksum>& out) noexcept;
  bool is_unchanged(std::size_t part, ImageReader reader) const noexcept;
  GrowableArray<std::byte> bytes_;
  GrowableArray<Part> parts_;
};

}  // namespace swipr::unwind
