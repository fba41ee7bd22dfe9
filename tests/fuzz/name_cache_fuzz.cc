// Any bytes as a file of the name cache: reading ends without a crash. The checksum, which only
// detects incomplete files, is corrected first; otherwise every input would be rejected.
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "symbolize/name_cache.h"

namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kMaxBytes = 1 << 16;

// Removed with the process.
class Folder {
 public:
  Folder() { ::mkdtemp(path_.data()); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "swipr-names-XXXXXX").string();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  if (size < kHeaderBytes || size > kMaxBytes) return 0;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto checksum = static_cast<std::uint32_t>(::crc32_z(
      0, reinterpret_cast<const Bytef*>(bytes.data()) + kHeaderBytes, size - kHeaderBytes));
  std::memcpy(bytes.data() + kChecksumAt, &checksum, sizeof checksum);
  std::ofstream(folder.path() + "/ab.names", std::ios::binary) << bytes;
  swipr::symbolize::TextPool texts;
  const swipr::symbolize::NameCache cache(folder.path(), std::uint64_t{1} << 30);
  std::size_t read = 0;
  for (const auto& [address, functions] : cache.load("ab", "dwarf", texts)) {
    for (const auto& function : functions) read += function.name.size() + function.file.size();
  }
  return read > (std::size_t{1} << 40) ? -1 : 0;
}
