// A folder of cached files, shared by any number of processes.
#pragma once

#include <cstdint>
#include <string>

namespace swipr::symbolize {

// Creates it and its parents with mode 0700. Errors are reported when a file is created in it.
void make_cache_folder(const std::string& folder);

// Removes the least recently used files until at most `max_bytes` remain. Subfolders are not
// counted.
void remove_oldest_files(const std::string& folder, std::uint64_t max_bytes);

}  // namespace swipr::symbolize
