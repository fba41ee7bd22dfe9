// Profiles and files → requests to a store.
#pragma once

#include <string>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/push/requests/request.h"
#include "common/host/result.h"

namespace swipr::commands {

// Under which a store files a profile; the host is added.
struct StoreNames {
  std::string service;
  push::Labels labels;
};
// NAME=VALUE
push::Labels split_labels(const std::vector<std::string>& texts);

// `writing`: of a .col file.
// Errors: no memory.
host::Result<std::vector<push::Request>> requests_of_profile(const push::StoreUrl& url,
                                                             const StoreNames& store,
                                                             const profile::Recording& recording,
                                                             const profile::Names& names,
                                                             const exporters::Options& writing);

// A recording is converted into what the store takes; a pprof or .col file is sent as it is.
// `notes`: about missing names.
// Errors: an unreadable file; a store that does not take this kind of file.
host::Result<std::vector<push::Request>> make_requests(const options::PushOptions& options,
                                                       const push::StoreUrl& url,
                                                       const std::string& path,
                                                       std::vector<std::string>& notes);

}  // namespace swipr::commands
