// Fetches files of modules from recorded processes: a process in a container or mount namespace
// serves its mapped files by build-id.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session/find/places.h"
#include "common/core/ids.h"
#include "common/host/result.h"

namespace swipr::session {

class ModuleServers {
 public:
  // Writes the file with this build-id to `out`, from a process that has the id `pid` here or
  // in its own PID namespace. The caller must verify the content.
  // Blocks: at most 20 s per process.  Bounds: 2 GiB.  Errors: no process has it, or it
  // arrived incomplete.
  host::Result<void> fetch(Pid pid, std::string_view build_id, int out);

 private:
  std::vector<Place>& places_of(Pid pid);

  std::map<Pid, std::vector<Place>> places_;  // sockets that answered or were not yet asked
};

}  // namespace swipr::session
