// An ELF file laid out in an artificial address space by its program headers, read through an
// ImageReader, so that any library can be tested without loading it.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "preload/unwind/image/table_builder.h"

namespace swipr::unwind {

class MappedFile {
 public:
  static constexpr std::uint64_t kLoadBias = 0x100000000;

  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  bool is_open() const { return !bytes_.empty(); }
  std::uint64_t elf_header() const;  // run-time address
  ImageReader reader() { return {&read, this}; }
  std::span<const Elf64_Phdr> segments() const;
  std::uint64_t section_bytes(std::string_view name) const;  // 0: no such section

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;

  std::span<const std::byte> bytes_;
};

}  // namespace swipr::unwind
