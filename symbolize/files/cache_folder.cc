#include "symbolize/files/cache_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace swipr::symbolize {

void make_cache_folder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
  ::mkdir(folder.c_str(), 0700);
}

void remove_oldest_files(const std::string& folder, std::uint64_t max_bytes) {
  struct File {
    std::filesystem::file_time_type used;
    std::uint64_t bytes;
    std::filesystem::path path;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code gone;
    const auto bytes = entry->file_size(gone);
    const auto used = entry->last_write_time(gone);
    if (gone) continue;
    files.push_back({used, bytes, entry->path()});
    total += bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const File& left, const File& right) { return left.used < right.used; });
  for (const File& file : files) {
    if (total <= max_bytes) break;
    std::error_code ignored;
    std::filesystem::remove(file.path, ignored);
    total -= file.bytes;
  }
}

}  // namespace swipr::symbolize
