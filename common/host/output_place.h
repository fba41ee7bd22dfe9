// Where an output file lies. The path is walked without following symbolic links of other users, so
// that nobody who can write to a folder on the way (as everybody can to /tmp) chooses which file is
// overwritten.
#pragma once

#include <string>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::host {

struct OutputPlace {
  UniqueFd folder;   // O_PATH
  std::string name;  // the last component, behind all links
  bool exists = false;
  bool is_shared = false;  // others can put files into the folder
  bool is_magic = false;   // a link in /proc, such as /proc/self/fd/1: only the kernel follows it
};

// Errors: a folder is missing or not accessible, or a link belongs to another user (neither this
// one nor root). The message begins with "cannot write PATH: ".
Result<OutputPlace> find_output_place(const std::string& path);

// Opens with `flags` | O_WRONLY | O_CLOEXEC; with O_CREAT a file gets mode 0666 & ~umask.
// Errors: as open(2); in a shared folder a file that belongs to another user or has other names.
Result<UniqueFd> open_output(const OutputPlace& place, int flags, const std::string& path);

}  // namespace swipr::host
