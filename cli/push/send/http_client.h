// HTTP and HTTPS to one store. The only code that uses the HTTP and TLS libraries: it has an
// executable of its own.
#pragma once

#include <memory>

#include "cli/push/requests/messages.h"

namespace swipr::push {

class HttpClient {
 public:
  // `place.ca_file`: certificates that are trusted; empty: those of the system.
  // Errors: not an origin; a file of certificates that cannot be read, or has none.
  static host::Result<HttpClient> create(const SendPlace& place);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Blocks: finding the host, and then 10 s for each step of a connection, 30 s for sending, and 30
  // s for the answer. Connections are kept; redirections are not followed, because they would take
  // the token elsewhere.
  Answer post(const Request& request);

 private:
  class Connection;
  explicit HttpClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace swipr::push
