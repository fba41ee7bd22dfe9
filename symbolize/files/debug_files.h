// Finds the files of a module: the module itself, its separate debug file, its dwz supplement.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/base/spec.h"
#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

struct ModuleFiles {
  std::optional<ElfFile> image;  // none: every candidate was absent or refused
  // The file that `image` was read from; "" when it was found by build-id or is the vDSO.
  std::string path;
  std::string note;  // what was missing or refused; empty: nothing
};

// The module's own file: below the symfs, or /proc/PID/root (links resolved inside that root), at
// the recorded path, through the mapping of the living process, then by build-id below the debug
// directories, from the process itself and from debuginfod. A file with another build-id than the
// recorded one is refused.
ModuleFiles find_module_files(const ModuleSpec& spec, const Options& options);

// The file with the debug information of `image`: by build-id, then by .gnu_debuglink beside `path`
// and below the debug directories, then from debuginfod. Its build-id must be the image's; where
// one of them has none, the link's CRC must be the file's.
std::optional<ElfFile> find_debug_file(const ElfFile& image, std::string_view path,
                                       const Options& options);

// The supplementary file (dwz) that `dwarf` refers to. libdw would open whatever path the debug
// file names; here only a file with the right build-id below the debug directories is taken.
struct SupplementaryFile {
  bool wanted = false;
  std::optional<ElfFile> file;
};
SupplementaryFile find_supplementary_file(Dwarf* dwarf, const Options& options);

}  // namespace swipr::symbolize
