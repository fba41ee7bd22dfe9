// One ELF image: a file, or bytes in memory (the vDSO), with its build-id and load segments.
// Only headers and notes of a file are read at first, other parts on demand.
#pragma once

#include <gelf.h>
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
#include "symbolize/elf/file_bytes.h"

namespace swipr::symbolize {

class ElfFile {
 public:
  // Opens regular files only, because a recorded program may name a pipe or a device.
  // Errors: not there, not readable, not regular, not ELF.
  static host::Result<ElfFile> open(const std::string& path);
  static host::Result<ElfFile> from_descriptor(host::UniqueFd fd);
  static host::Result<ElfFile> from_memory(std::vector<char> bytes);

  // Another handle on the same bytes, for another thread. Parts that were read are shared.
  // Errors: out of memory.
  host::Result<ElfFile> share() const;

  // Reads the sections of symbol tables and of the procedure linkage table.
  void load_symbols() { load_sections(&is_symbol_section); }
  // Reads the DWARF that names and lines need.
  // Compressed sections are expanded here, once for all handles. Not after share().
  // Errors: they cannot be.
  host::Result<void> load_debug_info();

  Elf* elf() const { return elf_.get(); }
  const std::string& build_id() const { return build_id_; }  // lower-case hex; empty: none
  const std::string& identity() const { return identity_; }  // device and inode; empty: in memory
  const std::string& origin() const { return origin_; }      // where it was found, for messages
  void set_origin(std::string origin) { origin_ = std::move(origin); }

  std::optional<ImageAddr> image_address(FileOffset offset) const;
  std::optional<FileOffset> file_offset(ImageAddr address) const;
  bool is_code(ImageAddr address) const;  // inside an executable load segment
  // False for what objcopy --only-keep-debug writes: its segments have lost their file offsets.
  bool has_file_offsets() const;

  // True if it has a non-empty .debug_info section.
  bool has_debug_info() const;

  struct Section {
    std::string_view bytes;  // empty: absent, NOBITS or damaged
    ImageAddr address = {};
  };
  Section section(std::string_view name) const;
  // The one that is loaded there.
  Section section_at(ImageAddr address) const;

 private:
  struct Segment {
    std::uint64_t offset, address, file_size, memory_size;
    bool executable;
  };
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  ElfFile() = default;
  static bool is_symbol_section(std::string_view name);
  static bool is_debug_section(std::string_view name);
  host::Result<void> load();
  Elf_Scn* find_section(std::string_view name, GElf_Shdr* header) const;
  Section contents(Elf_Scn* section, const GElf_Shdr& header) const;
  void load_headers();
  host::Result<void> expand_debug_sections();
  void load_sections(bool (*wanted)(std::string_view name)) const;
  const Segment* segment_of(FileOffset offset) const;

  std::shared_ptr<FileBytes> bytes_;
  std::unique_ptr<Elf, EndElf> elf_;
  std::string build_id_;
  std::string identity_;
  std::string origin_;
  std::vector<Segment> segments_;
};

// The running kernel's vDSO, as it is mapped into this process.
// Errors: there is none (some virtual machines and valgrind).
host::Result<ElfFile> read_own_vdso();

}  // namespace swipr::symbolize
