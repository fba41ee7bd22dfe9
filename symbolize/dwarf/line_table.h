// The line table of one unit: addresses at which the line or the file changes.
// Source: DWARF 5, section 6.2; DWARF 2 to 4 differ in the header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"
#include "symbolize/base/work_limit.h"
#include "symbolize/dwarf/dwarf_forms.h"
#include "symbolize/dwarf/dwarf_sections.h"
#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class LineTable {
 public:
  struct Row {
    std::uint64_t address = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;
  };

  LineTable() = default;
  // Reading stops at damage or at the limit; earlier rows are kept. Sequences without code in
  // `image` were dropped by the linker and are skipped. `folder` is the working directory of
  // the compiler (empty: unknown).
  // Lifetime: that of `sections` and `folder`.
  LineTable(const DwarfSections& sections, std::uint64_t offset, std::string_view folder,
            const ElfFile& image, WorkLimit& limit);

  // Null: no sequence covers the address.
  const Row* find(ImageAddr address) const;

  // Rows of `line` in files whose path is or ends with `file`, or of the first line behind it that
  // has code.
  std::vector<Row> find_line(std::string_view file, std::uint32_t line) const;

  std::size_t file_count() const { return files_.size(); }
  // A relative path if the table has one. Empty: unknown.
  std::string path_of(std::size_t file) const;

  std::size_t memory_bytes() const {
    return rows_.capacity() * sizeof(Row) + sequences_.capacity() * sizeof(Sequence) +
           (files_.capacity() + folders_.capacity()) * sizeof(File);
  }

 private:
  struct File {
    std::string_view name;
    std::uint64_t folder = 0;
  };
  struct Sequence {
    std::uint64_t begin, end;
    std::uint32_t first, count;  // of its rows
  };
  struct Header {
    UnitFormat format;
    std::uint8_t instruction_bytes = 1;
    std::int8_t line_base = 0;
    std::uint8_t line_range = 0;
    std::span<const std::byte> operand_counts;  // of the standard opcodes
  };
  class Program;

  bool read_header(ByteCursor& cursor, Header* header, const DwarfSections& sections,
                   WorkLimit& limit);
  bool read_old_files(ByteCursor& cursor, WorkLimit& limit);
  bool read_old_file(ByteCursor& cursor);
  bool read_entries(ByteCursor& cursor, const UnitFormat& format, const DwarfSections& sections,
                    std::vector<File>* entries, WorkLimit& limit);
  void end_sequence(std::size_t first, std::uint64_t end, const ElfFile& image);

  std::vector<Row> rows_;
  std::vector<Sequence> sequences_;  // by begin
  std::vector<File> files_;
  std::vector<File> folders_;  // 0: the compiler's own
};

}  // namespace swipr::symbolize
