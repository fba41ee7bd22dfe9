// Where profiles are pushed to: "pyroscope+https://user@host:4040/prefix". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::push {

enum class Engine : std::uint8_t { kPyroscope, kParca, kStudio, kOtlp };

struct StoreUrl {
  Engine engine = Engine::kPyroscope;
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string path;  // prefix of all requests: empty, or "/prefix" without a slash at the end
  std::string user;  // decoded; empty: none
  std::string password;
  // "https://host:port"; never with user and password, so it may be printed.
  std::string origin() const;
};

// Errors: another scheme; no host; not a port; a query or a fragment.
host::Result<StoreUrl> parse_store_url(std::string_view text);
// The same without the engine, which has no meaning then: "https://user@host:4040/prefix".
host::Result<StoreUrl> parse_url(std::string_view text);
// Whether the text is meant as a store's URL and not as the name of a file.
bool is_store_url(std::string_view text);

// The proxy variables of the environment, as curl reads them. Empty: not set.
struct ProxyVariables {
  std::string http_proxy;  // lower case only: HTTP_PROXY may come from a request header (httpoxy)
  std::string https_proxy;
  std::string all_proxy;
  std::string no_proxy;
};

struct Proxy {
  std::string host;  // empty: none
  std::uint16_t port = 0;
  std::string user, password;
};

// no_proxy: "*", or names and addresses separated by commas; "example.com" and ".example.com" also
// match what ends in ".example.com".
// Errors: the chosen variable is no http URL.
host::Result<Proxy> choose_proxy(const StoreUrl& url, const ProxyVariables& variables);

}  // namespace swipr::push
