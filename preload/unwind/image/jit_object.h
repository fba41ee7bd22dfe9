// An ELF object file that a compiler keeps in memory for debuggers (GDB's JIT interface); it
// describes code elsewhere in memory. Every byte is untrusted and may change or be unmapped
// meanwhile.
// Context: control thread.  Allocates: mmap.
// Source: GDB manual, "JIT Compilation Interface"; ELF-64 gABI.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/core/range.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/cfi/registered_cfi.h"

namespace swipr::unwind {

class JitObject {
 public:
  // Copies the headers and, if present, symbols and names. False: not an object file of this
  // machine, too large (65,280 sections, 16 MiB of symbols or of names), not all of it readable, or
  // no memory. May be called again, for another object.
  bool open(Range<std::uint64_t> object, ImageReader reader) noexcept;

  // Location of its .eh_frame, or else its .debug_frame. `bytes` 0: it has neither. In relocatable
  // objects, which LLVM keeps, the section's address is that of the loaded section; the bytes in
  // the object file are not relocated.
  CfiSource find_cfi() const noexcept;

  // Hash of sections, symbols and names: a different hash is a different object, even at the same
  // address.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }

  // Number of bytes that the last open() copied, even if it failed.
  std::size_t copied_bytes() const noexcept {
    return sections_.span().size_bytes() + section_names_.size() + symbols_.span().size_bytes() +
           names_.size();
  }

  // Calls on_function(Range code, std::string_view name) for each function symbol. Stops if it
  // returns false, and then returns false.
  template <typename OnFunction>
  bool for_each_function(OnFunction&& on_function) const noexcept {
    for (const Elf64_Sym& symbol : symbols_.span()) {
      const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                               symbol.st_shndx != SHN_UNDEF && symbol.st_size != 0;
      const std::string_view name = is_function ? text(names_, symbol.st_name) : std::string_view();
      if (name.empty()) continue;
      const std::uint64_t start = address_of(symbol);
      if (start == 0 || symbol.st_size > UINT64_MAX - start) continue;
      if (!on_function(Range<std::uint64_t>{start, start + symbol.st_size}, name)) return false;
    }
    return true;
  }

 private:
  bool read_sections(ImageReader reader) noexcept;
  bool read_symbols(ImageReader reader) noexcept;
  template <typename T>
  bool copy(const Elf64_Shdr& section, ImageReader reader, GrowableArray<T>& out) const noexcept;
  const Elf64_Shdr* find_section(std::string_view name) const noexcept;
  std::uint64_t address_of(const Elf64_Sym& symbol) const noexcept;
  // Empty: out of bounds, or not terminated.
  static std::string_view text(const GrowableArray<char>& all, std::uint64_t at) noexcept;

  Range<std::uint64_t> object_;
  Elf64_Ehdr header_{};
  std::uint64_t fingerprint_ = 0;
  GrowableArray<Elf64_Shdr> sections_;
  GrowableArray<char> section_names_;
  GrowableArray<Elf64_Sym> symbols_;
  GrowableArray<char> names_;
};

}  // namespace swipr::unwind
