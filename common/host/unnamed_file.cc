#include "common/host/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

namespace swipr::host {

UniqueFd make_unnamed_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (file || errno != ENOSYS) return file;
  const char* const folder = std::getenv("TMPDIR");
  return UniqueFd(::open(folder == nullptr ? "/tmp" : folder, O_TMPFILE | O_RDWR | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
}

}  // namespace swipr::host
