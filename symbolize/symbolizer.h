// Turns addresses of modules into functions, inlined frames, files and lines.
// Sources, in this order: DWARF of the module or of its separate debug file, .symtab, the table in
// .gnu_debugdata, .dynsym, stubs of the PLT. A module is accepted only if its build-id is the
// recorded one. Thread: one Symbolizer per thread; find_all starts threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"
#include "symbolize/base/signature.h"
#include "symbolize/base/spec.h"
#include "symbolize/elf/symbol_entries.h"
#include "symbolize/text/text_pool.h"

namespace swipr::symbolize {

class Symbolizer {
 public:
  explicit Symbolizer(Options options = {},
                      std::shared_ptr<TextPool> texts = std::make_shared<TextPool>());
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Opens a module on first use; equal specs give the same handle. Never fails: lookups in a
  // module without a usable file return an empty list, and `note` is the reason.
  using ModuleHandle = std::uint32_t;
  ModuleHandle open_module(const ModuleSpec& spec);

  // Functions at the byte `offset` of the module's file (executable segments only), innermost
  // inlined function first; empty: no symbol covers it. Pass the looked-up byte: callers subtract
  // one from return addresses (lookup_address).
  std::vector<SourceFunction> find_functions(ModuleHandle module, FileOffset offset);

  struct Lookup {
    ModuleHandle module;
    FileOffset offset;
  };
  // The same for many, on all CPUs and with bounded memory: units are indexed one after the other
  // and dropped again. Shape: parallel to `lookups`.
  std::vector<std::vector<SourceFunction>> find_all(std::span<const Lookup> lookups);

  // The static variable that an address in the module's data is in: "locks", "locks+0x28"; empty:
  // not known.
  std::string find_variable(ModuleHandle module, ImageAddr address);

  // All functions that the module's file defines or imports.
  // Lifetime: of their names, the symbolizer's.
  std::vector<FunctionSymbol> list_functions(ModuleHandle module);

  // The functions, with those inlined into them, that have code of this line, or of the first line
  // behind it that has code. `file` is the end of a path. Of each function one address.
  // Blocks: until all line tables of the module have been read.
  struct LineFunctions {
    ImageAddr begin;                        // of the function that is not inlined
    std::vector<SourceFunction> functions;  // innermost first
  };
  std::vector<LineFunctions> find_line(ModuleHandle module, std::string_view file,
                                       std::uint32_t line);

  // The parameters of the function that begins at an image address. nullopt: not known, or the
  // compiler may have changed them.
  std::optional<Signature> find_signature(ModuleHandle module, ImageAddr begin);

  // Functions whose name `matches` accepts and that are inlined, each with a function into which.
  // Blocks: until all DWARF of the module has been read.  Bounds: 64 of them.
  struct Inlined {
    std::string_view name, into;
  };
  std::vector<Inlined> find_inlined(ModuleHandle module,
                                    const std::function<bool(std::string_view)>& matches);

  // Start of the function at a byte for which find_functions has no name; none: unknown.
  std::optional<ImageAddr> function_start(ModuleHandle module, FileOffset offset);

  // The image address (as in symbol tables) of a byte of the file; the offset itself if unknown.
  ImageAddr image_address(ModuleHandle module, FileOffset offset);
  // The inverse, for recordings without file offsets; the address itself if unknown.
  FileOffset file_offset(ModuleHandle module, ImageAddr address);

  // Sources of the names of a module.
  struct Sources {
    std::string file;        // the module's own; empty: not found, or refused
    std::string debug_file;  // the separate one with DWARF; empty: none
    bool dwarf = false;
    bool symbol_table = false;   // .symtab, or the one in .gnu_debugdata
    bool dynamic_table = false;  // .dynsym
    bool go_table = false;       // .gopclntab
  };
  Sources sources(ModuleHandle module);

  // One line about what was missing for this module (no file, wrong build-id, damaged); empty:
  // none.
  std::string_view note(ModuleHandle module) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace swipr::symbolize
