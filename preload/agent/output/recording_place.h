// Selects the file for SWIPR_RECORD, in each process and image that inherits the variable.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "preload/agent/base/text/fixed_text.h"

namespace swipr::agent {

// Opens the file and locks it while it is open. {PID} in `pattern` is replaced; in a folder the
// name is PROGRAM-PID.swipr. An existing file is replaced, unless a process records into it or it
// was written since this process started (by an earlier image of it, or by another process that
// inherited the same name): then "-PID" is appended to the name. Names with the pid never replace a
// file; a number is appended. −1, errno set: failed; EINVAL: not a regular file; ELOOP: a symbolic
// link, or, in a folder that others can write to, a link, a file of another user or one that has
// another name. `path`: the name tried last.
int open_recording_file(std::string_view pattern, pid_t pid, TextWriter& path) noexcept;

}  // namespace swipr::agent
