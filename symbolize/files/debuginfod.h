// Files from the debuginfod servers that DEBUGINFOD_URLS names, through elfutils' client library,
// which keeps a cache of its own. It is loaded when first needed: swipr works without it.
#pragma once

#include <optional>
#include <string>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

enum class RemoteFile { kDebugInfo, kExecutable };

// None: no server is set, the library is not installed, or no server has the file; also when what
// came has another build-id. `build_id` is lower-case hex.
// Thread: any; calls wait for each other. Blocks: as long as DEBUGINFOD_TIMEOUT lets it.
std::optional<ElfFile> find_remote_file(RemoteFile kind, const std::string& build_id);

// True if servers are set and the library is installed.
bool has_debuginfod();

}  // namespace swipr::symbolize
