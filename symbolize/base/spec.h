// What a lookup is asked with and answered with.
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

}  // namespace swipr::symbolize
