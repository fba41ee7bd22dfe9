// The symbol table that Fedora and related distributions keep in stripped programs: an ELF image,
// compressed with xz, in the section .gnu_debugdata.
#pragma once

#include <optional>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

// None: no such section, damaged, or implausibly large.
// Bounds: 256 MiB of image, 64 MiB for the decoder.
std::optional<ElfFile> find_mini_debug_info(const ElfFile& image);

}  // namespace swipr::symbolize
