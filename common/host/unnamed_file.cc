#include "common/host/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "common/host/temporary_folder.h"

namespace swipr::host {

UniqueFd make_unnamed_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (file || errno != ENOSYS) return file;
  return UniqueFd(
      ::open(temporary_place().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

}  // namespace swipr::host
