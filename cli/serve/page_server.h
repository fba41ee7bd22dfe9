// Serves pages and event streams to a browser of this user on this machine: on loopback only, at a
// random port, below a random path, and only for its own host name and its own pages.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/serve/http_request.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::serve {

class PageServer {
 public:
  ~PageServer();
  PageServer(PageServer&&) noexcept;
  PageServer& operator=(PageServer&&) noexcept;

  // Created on the first request, then cached.
  using Maker = std::function<host::Result<std::string>()>;

  // The next event for one browser, as a line of text; empty: there is none yet. It is asked for
  // when the browser has received the one before, so that a slow browser costs the memory of one.
  using Feed = std::function<std::string()>;

  // Starts to listen.  Errors: no socket, no random bytes.
  static host::Result<PageServer> create();

  // `path` is relative to the URL; "" is the start page.
  void add(const std::string& path, std::string type, Maker make);

  // A stream of server-sent events; `begin` makes the feed of each browser.
  // Bounds: 16 browsers.
  void add_stream(const std::string& path, std::function<Feed()> begin);

  // "http://127.0.0.1:PORT/TOKEN/"
  std::string url() const;

  // Answers requests until `stop_fd` is readable.
  // Bounds: 64 connections, 16 KiB per request; connections that are idle for 10 s are closed.
  host::Result<void> run(int stop_fd);
  // One wait for `others` (revents are set) and for requests, which are answered.  Blocks: at most
  // `timeout`; negative: no limit.
  host::Result<void> serve(std::span<pollfd> others, std::chrono::milliseconds timeout);
  // Asks the feeds of browsers that have received everything.
  void push();
  // True if every browser has received what its feed had for it.
  bool has_sent_all() const;

 private:
  struct Page {
    std::string type;
    Maker make;
    std::shared_ptr<const std::string> text;  // null: not yet created
  };
  struct Connection;

  PageServer();
  void accept_all();
  bool go_on(Connection& connection);
  bool go_on_streaming(Connection& connection, short revents);
  bool receive(Connection& connection);
  bool send(Connection& connection);
  void respond(Connection& connection);
  std::string answer(const Request& request, Connection& connection);
  std::string begin_stream(Connection* connection, const std::function<Feed()>& begin);
  bool is_own_host(std::string_view host) const;

  host::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::string token_;
  std::map<std::string, Page> pages_;
  std::map<std::string, std::function<Feed()>> streams_;
  std::map<int, Connection> connections_;
};

}  // namespace swipr::serve
