// What the environment says of stores: proxies and tokens.
#pragma once

#include <string>

#include "cli/push/requests/store_url.h"
#include "common/host/result.h"

namespace swipr::push {

// http_proxy, https_proxy, all_proxy and no_proxy, the latter three also in capital letters.
ProxyVariables proxy_variables();

// The first line of `file`; without one of the credential "swipr-token" of systemd, else
// SWIPR_PUSH_TOKEN; empty: none. A header cannot hold a line break.
// Errors: the file cannot be read.
host::Result<std::string> read_token(const std::string& file);

}  // namespace swipr::push
