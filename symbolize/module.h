// One module: its files, and its indexes, which are built on first use.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/base/signature.h"
#include "symbolize/dwarf/dwarf_index.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/function_starts.h"
#include "symbolize/elf/go_functions.h"
#include "symbolize/elf/plt_entries.h"
#include "symbolize/elf/symbol_entries.h"
#include "symbolize/elf/symbol_table.h"
#include "symbolize/elf/variable_table.h"
#include "symbolize/files/debug_files.h"
#include "symbolize/symbolizer.h"

namespace swipr::symbolize {

class Module {
 public:
  // Lifetime: `options` and `texts` outlive the module.
  Module(ModuleFiles files, const Options& options, TextPool& texts);

  // Reads what is there, once. The other functions do not: call it before find_functions, from one
  // thread; then lookups with a reader each may run in any number of threads.
  void load();

  // Image address of the byte at `offset`; none: not code.
  std::optional<ImageAddr> code_address(FileOffset offset) const;
  std::vector<SourceFunction> find_functions(ImageAddr address, DwarfIndex* dwarf) const;
  std::optional<Signature> find_signature(ImageAddr begin);
  // The module's own reader; null: it has no DWARF.
  DwarfIndex* dwarf() const { return dwarf_.get(); }

  // "locks", "locks+0x28": the static variable that the address is in; empty: not known.
  std::string find_variable(ImageAddr address);

  // Begin of the function at `offset` in files whose functions have no names.
  std::optional<ImageAddr> function_start(FileOffset offset);

  // All functions that the file defines or imports.  Lifetime: of their names, that of `texts`.
  std::vector<FunctionSymbol> list_functions();

  const std::string& build_id() const { return build_id_; }
  // Where the names come from and how they are written, found out without reading DWARF: while it
  // stays the same, so do the names. Empty: nothing to cache.
  std::string signature();
  Symbolizer::Sources sources();

  ImageAddr image_address(FileOffset offset) const;
  FileOffset file_offset(ImageAddr address) const;
  const std::string& note() const { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }
  // Marks its DWARF as too slow to read.  Thread: any.
  bool gave_up() const { return gave_up_; }
  // Adds the notes of a reader.
  void note_damage(const DwarfIndex& dwarf);

 private:
  void find_debug_file_once();
  void load_variables();
  void load_dwarf();
  bool load_dwarf_of(ElfFile& file);
  std::vector<SourceFunction> find_go(ImageAddr address) const;
  std::vector<SourceFunction> find_symbol(ImageAddr address, const SourceLine& line) const;
  void complete_linkage_name(SourceFunction* function, ImageAddr address) const;
  std::string_view readable(std::string_view name) const;

  const Options* options_;
  TextPool* texts_;
  std::atomic<bool> gave_up_ = false;
  bool loaded_ = false;
  bool looked_for_debug_file_ = false;
  std::string build_id_;  // empty: none, or no file
  std::string path_;
  std::string note_;
  std::optional<ElfFile> image_;
  std::optional<ElfFile> debug_file_;
  std::optional<ElfFile> mini_;  // of .gnu_debugdata
  std::unique_ptr<DwarfIndex> dwarf_;
  SymbolTable static_symbols_;
  SymbolTable dynamic_symbols_;
  std::optional<VariableTable> variables_;
  PltEntries plt_;
  GoFunctions go_;
  std::optional<FunctionStarts> starts_;
};

}  // namespace swipr::symbolize
