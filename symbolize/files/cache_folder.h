// A folder of files that can be created again, shared by any number of processes.
#pragma once

#include <cstdint>
#include <string>

namespace swipr::symbolize {

// Creates it and its parents, for this user only. Failures show when a file is created in it.
void make_cache_folder(const std::string& folder);

// Removes the files that were used longest ago until the others have at most `max_bytes` together.
// Folders below it are not counted.
void remove_oldest_files(const std::string& folder, std::uint64_t max_bytes);

}  // namespace swipr::symbolize
