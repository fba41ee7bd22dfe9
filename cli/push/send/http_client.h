// HTTP and HTTPS to one store. The only code that uses the HTTP library, whose loading takes 3.5
// ms: it has an executable of its own.
#pragma once

#include <memory>
#include <string>

#include "cli/push/requests/request.h"
#include "cli/push/requests/store_url.h"

namespace swipr::push {

class HttpClient {
 public:
  // `ca_file`: certificates that are trusted; empty: those of the system.
  // Errors: a file of certificates that cannot be read.
  static host::Result<HttpClient> create(const std::string& origin, const Proxy& proxy,
                                         const std::string& ca_file);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Blocks: at most a minute.
  Answer post(const Request& request);

 private:
  class Connection;
  explicit HttpClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace swipr::push
