// The place of an output file. Symbolic links of other users are not followed, so that users who
// can write to a folder of the path (such as /tmp) cannot choose the file that is overwritten.
#pragma once

#include <string>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::host {

struct OutputPlace {
  UniqueFd folder;   // O_PATH
  std::string name;  // the last component, with links resolved
  bool exists = false;
  bool is_shared = false;  // others can put files into the folder
  bool is_magic =
      false;  // a link in /proc, such as /proc/self/fd/1, which only the kernel can follow
};

// Errors: a folder is missing or not accessible, or a link belongs to another user (neither this
// one nor root). The message begins with "cannot write PATH: ".
Result<OutputPlace> find_output_place(const std::string& path);

// Opens with `flags` | O_WRONLY | O_CLOEXEC; with O_CREAT a file gets mode 0666 & ~umask.
// Errors: as open(2); in a shared folder a file that belongs to another user or has other names.
Result<UniqueFd> open_output(const OutputPlace& place, int flags, const std::string& path);

}  // namespace swipr::host
