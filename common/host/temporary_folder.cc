#include "common/host/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

namespace swipr::host {

std::string temporary_place() {
  const char* const place = std::getenv("TMPDIR");
  return place == nullptr || *place == '\0' ? "/tmp" : place;
}

TemporaryFolder::TemporaryFolder() : path_(temporary_place() + "/swipr-XXXXXX") {
  exists_ = ::mkdtemp(path_.data()) != nullptr;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (exists_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace swipr::host
