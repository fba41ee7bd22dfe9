// Files → requests to a store.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/push/requests/request.h"
#include "common/host/result.h"

namespace swipr::commands {

// A recording is converted into what the store takes; a pprof or .col file is sent as it is.
// `notes`: about missing names.
// Errors: an unreadable file; a store that does not take this kind of file.
host::Result<std::vector<push::Request>> make_requests(const options::PushOptions& options,
                                                       const push::StoreUrl& url,
                                                       const std::string& path,
                                                       std::vector<std::string>& notes);

}  // namespace swipr::commands
