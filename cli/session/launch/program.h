// Finds the program of `record -- CMD` and checks whether the loader can preload a library into it.
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
// Searches as execvp does: along $PATH unless the name contains a slash.
ProgramSearch find_program(const std::string& name);

// ELF properties that decide whether a library can be preloaded. The file is untrusted.
struct ElfTraits {
  bool native = false;  // class, byte order and machine are this swipr's
  bool is_32_bit = false;
  bool is_truncated = false;        // a program or loader that maps it would get SIGBUS
  std::string interpreter;          // PT_INTERP; empty: statically linked
  std::vector<std::string> needed;  // DT_NEEDED
};
// nullopt: not an ELF executable, or a damaged one.
std::optional<ElfTraits> read_elf_traits(const std::string& path);

// Follows "#!" lines to the program that the kernel will run in the end.
std::string resolve_interpreter(const std::string& path);

// Returns the reason why a library cannot be preloaded into the program, as the predicate of a
// sentence ("is statically linked: …"); nullopt: it can be.
std::optional<std::string> find_obstacle(const std::string& path);

// Returns the sanitizer runtime that must be the first library of the program; empty: none.
std::string find_leading_runtime(const ElfTraits& traits);

// Returns the absolute path of the libswipr_preload.so that belongs to this swipr, installed or
// in the build tree; else its bare name, which the loader searches.
// Errors: the path contains a space or a colon, which LD_PRELOAD does not allow; the file cannot be
// loaded, so that no program would start with it.
host::Result<std::string> find_preload();

// The same, but its bare name is an error: it is not installed beside this swipr.
host::Result<std::string> find_installed_preload();

// Returns "LD_PRELOAD=PATH" with the path that works on this machine.
std::string preload_setting();

}  // namespace swipr::session
