// Serves pages to a browser of this user on this machine: on loopback only, at a random port,
// below a random path, and only for its own host name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::serve {

class PageServer {
 public:
  // Created on the first request, then cached.
  using Maker = std::function<host::Result<std::string>()>;

  // Starts to listen.  Errors: no socket, no random bytes.
  static host::Result<PageServer> create();

  // `path` is relative to the URL; "" is the start page.
  void add(const std::string& path, std::string type, Maker make);

  // "http://127.0.0.1:PORT/TOKEN/"
  std::string url() const;

  // Answers requests until `stop_fd` is readable.
  // Bounds: 64 connections, 16 KiB per request; connections that are idle for 10 s are closed.
  host::Result<void> run(int stop_fd);

 private:
  struct Page {
    std::string type;
    Maker make;
    std::shared_ptr<const std::string> text;  // null: not yet created
  };
  struct Connection;

  PageServer() = default;
  void accept_all(std::map<int, Connection>& connections);
  bool go_on(Connection& connection);
  bool receive(Connection& connection);
  bool send(Connection& connection);
  std::string respond(std::string_view bytes, std::shared_ptr<const std::string>& body);
  bool is_own_host(std::string_view host) const;

  host::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::string token_;
  std::map<std::string, Page> pages_;
};

}  // namespace swipr::serve
