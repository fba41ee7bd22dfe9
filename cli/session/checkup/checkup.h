// What can be recorded here and how well: one finding per prerequisite, with the remedy.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/core/ids.h"

namespace swipr::session {

enum class Verdict : std::uint8_t {
  kFine,
  kNote,    // works; something is less than it could be
  kFailed,  // cannot be recorded
};

struct Finding {
  Verdict verdict = Verdict::kFine;
  std::string subject;  // "run-queue times"
  std::string text;     // what was found
  std::string remedy;   // what to do; empty: nothing
};

// This machine and this user.  Blocks: a few milliseconds.
std::vector<Finding> check_machine();

// The folder for sockets of programs of this user, with these variables.
Finding check_socket_folder(uid_t uid, const std::string& environment);

// A process that is to be recorded.  Blocks: at most two seconds, when it does not answer.
std::vector<Finding> check_process(Pid pid);

}  // namespace swipr::session
