// Places for files that do not stay.
#pragma once

#include <string>

namespace swipr::host {

// $TMPDIR, or /tmp.
std::string temporary_place();

// A new folder of this user in temporary_place(), removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool exists() const { return exists_; }  // false: it could not be made, errno says why
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool exists_ = false;
};

}  // namespace swipr::host
