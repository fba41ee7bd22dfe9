// A file in memory to write into through a descriptor and to read back.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include "common/host/unique_fd.h"

namespace swipr::golden {

class OutputFile {
 public:
  OutputFile() : fd_(memfd_create("output", MFD_CLOEXEC)) {
    if (!fd_) throw std::runtime_error("memfd_create failed");
  }
  int fd() const { return fd_.value(); }
  std::string content() const {
    std::string text;
    std::array<char, 4096> part;
    ssize_t size = 0;
    while ((size = pread(fd(), part.data(), part.size(), static_cast<off_t>(text.size()))) > 0) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  host::UniqueFd fd_;
};

}  // namespace swipr::golden
