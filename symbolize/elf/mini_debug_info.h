// The symbol table that Fedora's kind of distribution leaves in stripped programs: an ELF image,
// compressed with xz, in the section .gnu_debugdata.
#pragma once

#include <optional>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

// None: no such section, damaged, or larger than any symbol table is.
// Bounds: 256 MiB of image, 64 MiB for the decoder.
std::optional<ElfFile> find_mini_debug_info(const ElfFile& image);

}  // namespace swipr::symbolize
