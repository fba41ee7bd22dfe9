// Recorded processes as the place where files of their modules can be had: a process in a container
// or mount namespace of its own serves what is mapped in it, by build-id.
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
  // Writes the file with this build-id to `out`, from a process that knows itself, or is known to
  // us, as `pid`. Whoever serves it: the caller checks what came.  Blocks: at most 20 s for each of
  // them. Bounds: 2 GiB.  Errors: no process has it, or it arrived incomplete.
  host::Result<void> fetch(Pid pid, std::string_view build_id, int out);

 private:
  std::vector<Place>& places_of(Pid pid);

  std::map<Pid, std::vector<Place>> places_;  // sockets that answered, or were not asked yet
};

}  // namespace swipr::session
