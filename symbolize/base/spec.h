// Input and output of lookups.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"

namespace swipr::symbolize {

struct Options {
  bool demangle = true;
  bool inlines = true;
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // Root of the files of the recorded system, for recordings of other machines; empty: this system.
  std::string symfs;
  bool debuginfod = false;  // ask the servers of DEBUGINFOD_URLS
  // Folder in which find_all caches names of modules with DWARF and fetched files; empty: none.
  std::string cache_folder;
  // Limit of CPU time per 8 MiB of DWARF of a module; 0.1 s is usual. Beyond it only the
  // symbol tables of the module are used.
  std::chrono::milliseconds work_limit{20'000};
  // Fetches the file of a module that cannot be opened here from the process that has mapped
  // it, into a descriptor. Returns false on failure. Not used if empty or without a cache.
  std::function<bool(std::int32_t pid, const std::string& build_id, int fd)> fetch_module;
};

// Identifies the file of a module.
struct ModuleSpec {
  std::string path;      // as the recorded process saw it; "[vdso]" is the vDSO
  std::string build_id;  // lower-case hex; empty: unknown, then any file at `path` is accepted
  std::int32_t pid = 0;  // 0: none; otherwise, while it lives, its own view of the file is tried
                         // before PATH: below /proc/PID/root, through its mapping, its exe
  // Start of its mapping; 0: unknown. Needed to open memfds and deleted files.
  RuntimeAddr start = {};
  std::uint64_t size_bytes = 0;
};

// Lifetime: strings are owned by the text pool of the symbolizer.
struct SourceFunction {
  std::string_view name;          // demangled unless Options::demangle is off
  std::string_view linkage_name;  // as in the symbol table
  std::string_view file;          // empty: unknown
  std::uint32_t line = 0;         // 0: unknown
  std::uint32_t start_line = 0;   // line of the function's declaration; 0: unknown
  std::uint64_t offset = 0;       // bytes from the function's start; 0 for inlined functions
  bool inlined = false;
};

}  // namespace swipr::symbolize
