#include "cli/push/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/host/proc.h"

namespace swipr::push {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Of the service that this process runs in; empty: none.
std::string credential_file() {
  const std::string folder = variable("CREDENTIALS_DIRECTORY");
  if (folder.empty()) return {};
  std::string file = folder + "/swipr-token";
  return ::access(file.c_str(), R_OK) == 0 ? file : std::string();
}

}  // namespace

ProxyVariables proxy_variables() {
  const auto either = [](const char* lower, const char* upper) {
    std::string value = variable(lower);
    return value.empty() ? variable(upper) : value;
  };
  return {variable("http_proxy"), either("https_proxy", "HTTPS_PROXY"),
          either("all_proxy", "ALL_PROXY"), either("no_proxy", "NO_PROXY")};
}

host::Result<std::string> read_token(const std::string& file) {
  std::string token = variable("SWIPR_PUSH_TOKEN");
  if (const std::string& place = file.empty() ? credential_file() : file; !place.empty()) {
    auto text = host::read_file(place, 65536);
    if (!text) return text.error();
    token = *std::move(text);
  }
  token.resize(std::min(token.find_first_of("\r\n"), token.size()));
  return token;
}

}  // namespace swipr::push
