// One module: its files and, made when first needed, its indexes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/debug_files.h"
#include "symbolize/dwarf_index.h"
#include "symbolize/elf_file.h"
#include "symbolize/plt_entries.h"
#include "symbolize/symbol_table.h"
#include "symbolize/symbolizer.h"

namespace swipr::symbolize {

class Module {
 public:
  // Lifetime: `options` outlives the module.
  Module(ModuleFiles files, const Options& options);

  std::vector<SourceFunction> find_functions(FileOffset offset);
  ImageAddr image_address(FileOffset offset) const;
  FileOffset file_offset(ImageAddr address) const;
  const std::string& note() const { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }

 private:
  void load();
  void load_dwarf();
  bool load_dwarf_of(const ElfFile& file);
  std::vector<SourceFunction> find_symbol(ImageAddr address, const SourceLine& line) const;
  void complete_linkage_name(SourceFunction* function, ImageAddr address) const;

  const Options* options_;
  bool loaded_ = false;
  std::string path_;
  std::string note_;
  std::optional<ElfFile> image_;
  std::optional<ElfFile> debug_file_;
  std::optional<ElfFile> mini_;  // of .gnu_debugdata
  std::unique_ptr<DwarfIndex> dwarf_;
  SymbolTable static_symbols_;
  SymbolTable dynamic_symbols_;
  PltEntries plt_;
};

}  // namespace swipr::symbolize
