// The program behind `-- CMD`: finding it, and whether the loader will preload a library into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/host/result.h"

namespace swipr::session {

struct ProgramSearch {
  std::string path;  // of the executable file; empty: not found
  int error = 0;     // ENOENT, EACCES, … when `path` is empty
};
// As execvp finds it: along $PATH unless the name has a slash.
ProgramSearch find_program(const std::string& name);

// What decides about preloading, read from the ELF headers (hostile: any file can be named).
struct ElfTraits {
  bool native = false;  // class, byte order and machine are this swipr's
  bool is_32_bit = false;
  std::string interpreter;          // PT_INTERP; empty: statically linked
  std::vector<std::string> needed;  // DT_NEEDED
};
// nullopt: not an ELF executable, or a damaged one.
std::optional<ElfTraits> read_elf_traits(const std::string& path);

// Follows "#!" lines to the program that the kernel will run in the end.
std::string resolve_interpreter(const std::string& path);

// Why a library cannot be preloaded into the program, as the end of a sentence that starts with its
// name ("is statically linked: …"); nullopt: nothing speaks against it.
std::optional<std::string> find_obstacle(const std::string& path);

// The sanitizer runtime that wants to be the first library of the program; empty: none.
std::string find_leading_runtime(const ElfTraits& traits);

// Absolute path of libswipr_preload.so beside this swipr: installed or in the build tree; its bare
// name, for the loader to find, if it is at none of these places.
// Errors: its path holds a blank or colon, which LD_PRELOAD cannot express.
host::Result<std::string> find_preload();

// "LD_PRELOAD=PATH": what works for programs of this machine.
std::string preload_setting();

}  // namespace swipr::session
