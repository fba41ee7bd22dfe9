// Turns addresses of modules into functions, inlined frames, files and lines.
// Sources, in this order: DWARF of the module or of its separate debug file, .symtab, the table in
// .gnu_debugdata, .dynsym, stubs of the PLT. A module is accepted only if its build-id is the
// recorded one. Thread: one Symbolizer per thread; find_all starts threads of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"
#include "symbolize/text/text_pool.h"

namespace swipr::symbolize {

struct Options {
  bool demangle = true;
  bool inlines = true;
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // The root of the recorded system's files, for recordings from elsewhere; empty: this one's.
  std::string symfs;
  bool debuginfod = false;  // ask the servers of DEBUGINFOD_URLS
  // Where find_all keeps the names of modules with DWARF, and fetched files are; empty: nowhere.
  std::string cache_folder;
  // CPU time for each piece (8 MiB) of a module's DWARF; a real one takes a tenth of a second. A
  // module that takes more has the names of its symbol tables only.
  std::chrono::milliseconds work_limit{20'000};
  // Writes the file of a module that cannot be opened from here to a descriptor, as the process
  // that has it mapped serves it; false: it does not. Empty, or without a cache: not asked.
  std::function<bool(std::int32_t pid, const std::string& build_id, int fd)> fetch_module;
};

// Where to find a module's file and how to recognise it.
struct ModuleSpec {
  std::string path;      // as the recorded process saw it; "[vdso]" is the vDSO
  std::string build_id;  // lower-case hex; empty: unknown, then any file at `path` is accepted
  std::int32_t pid = 0;  // 0: none; otherwise, while it lives, its own view of the file is tried
                         // before PATH: below /proc/PID/root, through its mapping, its exe
  // Where it was mapped; 0: unknown. A memfd and a deleted file can be opened by that alone.
  RuntimeAddr start = {};
  std::uint64_t size_bytes = 0;
};

// Texts live as long as the pool that the symbolizer was made with.
struct SourceFunction {
  std::string_view name;          // demangled unless Options::demangle is off
  std::string_view linkage_name;  // as in the symbol table
  std::string_view file;          // empty: unknown
  std::uint32_t line = 0;         // 0: unknown
  std::uint32_t start_line = 0;   // line of the function's declaration; 0: unknown
  std::uint64_t offset = 0;       // bytes from the function's start; 0 for inlined functions
  bool inlined = false;
};

class Symbolizer {
 public:
  explicit Symbolizer(Options options = {},
                      std::shared_ptr<TextPool> texts = std::make_shared<TextPool>());
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Opens a module on first use; the same spec yields the same handle. Never fails: a module
  // without a usable file answers every lookup with an empty list, and `note` says why.
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

  // Where the function at a byte begins that find_functions has no name for; none: unknown.
  std::optional<ImageAddr> function_start(ModuleHandle module, FileOffset offset);

  // The image address (as in symbol tables) of a byte of the file; the offset itself if unknown.
  ImageAddr image_address(ModuleHandle module, FileOffset offset);
  // The other way round, for recordings that know no file offsets; the address itself if unknown.
  FileOffset file_offset(ModuleHandle module, ImageAddr address);

  // What the names of this module come from.
  struct Sources {
    std::string file;        // the module's own; empty: not found, or refused
    std::string debug_file;  // the separate one with DWARF; empty: none
    bool dwarf = false;
    bool symbol_table = false;   // .symtab, or the one in .gnu_debugdata
    bool dynamic_table = false;  // .dynsym
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
