// Functions and lines of Go programs from .gopclntab, which the runtime itself needs: it is there
// in programs that are linked without symbols and DWARF (-ldflags "-s -w", strip). Source: the
// structures pcHeader and _func in src/runtime/symtab.go and runtime2.go of Go 1.18 to 1.26,
// src/debug/gosym/pclntab.go; x86-64 and other little-endian 64-bit systems. Files of Go 1.17 and
// earlier have another magic number and are not read. Functions that were inlined: inlinedCall in
// symtabinl.go, moduledata in symtab.go, from Go 1.20 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class GoFunctions {
 public:
  struct Function {
    ImageAddr begin = {};
    std::string_view name;  // "main.(*Server).run"
    std::string_view file;  // of the line; empty: unknown
    std::uint32_t line = 0;
    std::uint32_t start_line = 0;  // 0: unknown; from Go 1.20 on
  };

  // Empty if the file has no such table, one of another version, or a damaged one.
  // Lifetime: until `file` ends.  After ElfFile::load_symbols, for relocated programs.
  static GoFunctions read(const ElfFile& file);

  // The functions that were inlined there, innermost first, and the one that they are in, each with
  // the place in it. Empty: no function of the table covers the address.  Bounds: what the table
  // says of a function is read to at most kMaxSteps steps.  Thread: any.
  std::vector<Function> find(ImageAddr address) const;
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::uint32_t kMaxSteps = 1 << 20;  // of one function's line table
  static constexpr unsigned kMaxInlined = 64;          // into each other

  // What _func has of a function: offsets into the tables.
  struct Record {
    std::uint32_t name = 0, files = 0, lines = 0, unit = 0, start_line = 0;
    std::uint32_t calls = 0;        // for each instruction, which inlined call it is of; 0: none
    std::uint32_t inlined = kNone;  // the function's inlined calls
  };
  static constexpr std::uint32_t kNone = ~0u;
  struct InlinedCall {
    std::string_view name;
    std::uint64_t caller = 0;  // offset in the function of an instruction that has the call's place
    std::uint32_t start_line = 0;
  };

  std::optional<Record> record(std::uint64_t entry) const;
  std::optional<std::uint64_t> find_entry(std::uint64_t offset) const;
  // That the instruction at `offset` in the function is of.
  std::optional<InlinedCall> find_inlined(const Record& record, std::uint64_t offset) const;
  // The value at `offset` from the function's begin in a table of (value, length) steps; -1: none.
  std::int32_t value_at(std::uint32_t table, std::uint64_t offset) const;
  std::string_view file_name(const Record& record, std::int32_t number) const;

  std::string_view inlined_;    // what Record::inlined counts from; empty: unknown
  std::string_view functions_;  // functab: of each function, its offset and that of its _func
  std::string_view names_, units_, files_, values_;
  std::uint64_t count_ = 0;
  std::uint64_t text_ = 0;     // image address that the offsets of functions count from
  std::uint64_t quantum_ = 1;  // size of the smallest instruction, unit of lengths
  bool has_start_lines_ = false;
};

}  // namespace swipr::symbolize
