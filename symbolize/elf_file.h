// One ELF image: a file, or bytes in memory (the vDSO). Knows its build-id and its load segments.
// Files are read, not mapped: one that is truncated or rewritten meanwhile yields errors, not
// SIGBUS.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::symbolize {

class ElfFile {
 public:
  // Only regular files: what a recorded program names may be a pipe or a device.
  // Errors: not there, not readable, not regular, not ELF.
  static host::Result<ElfFile> open(const std::string& path);
  static host::Result<ElfFile> from_descriptor(host::UniqueFd fd);
  static host::Result<ElfFile> from_memory(std::vector<char> bytes);

  Elf* elf() const { return elf_.get(); }
  const std::string& build_id() const { return build_id_; }  // lower-case hex; empty: none
  const std::string& identity() const { return identity_; }  // device and inode; empty: in memory

  std::optional<ImageAddr> image_address(FileOffset offset) const;
  std::optional<FileOffset> file_offset(ImageAddr address) const;
  bool is_code(ImageAddr address) const;  // inside an executable load segment
  // False for what objcopy --only-keep-debug writes: its segments have lost their file offsets.
  bool has_file_offsets() const;

  // The bytes of a section that has any; empty when absent, NOBITS or damaged.
  std::string_view section_bytes(std::string_view name) const;

 private:
  struct Segment {
    std::uint64_t offset, address, file_size, memory_size;
    bool executable;
  };
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  ElfFile() = default;
  host::Result<void> load();
  const Segment* segment_of(FileOffset offset) const;

  host::UniqueFd fd_;
  std::vector<char> bytes_;
  std::unique_ptr<Elf, EndElf> elf_;
  std::string build_id_;
  std::string identity_;
  std::vector<Segment> segments_;
};

std::string to_hex(std::span<const unsigned char> bytes);

// The running kernel's vDSO, as it is mapped into this process.
// Errors: there is none (some virtual machines and valgrind).
host::Result<ElfFile> read_own_vdso();

}  // namespace swipr::symbolize
