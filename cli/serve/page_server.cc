#include "cli/serve/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/serve/http_request.h"
#include "common/host/secret.h"

namespace swipr::serve {

namespace {

using Clock = std::chrono::steady_clock;
using host::Result;
using host::system_error;

constexpr std::size_t kMaxConnections = 64;
constexpr auto kPatience = std::chrono::seconds(10);

// No loads from other hosts, no referrer (it would reveal the path), no embedding in frames.
// speedscope sets styles and reads its profile by fetch; 'wasm-unsafe-eval' is for its
// importers.
constexpr std::string_view kHeaders =
    "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Content-Security-Policy: default-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' data: "
    "blob:\r\n";

std::string header(std::string_view status, std::string_view type, std::size_t bytes) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n", status,
                     type, bytes, kHeaders);
}

std::string short_answer(std::string_view status, std::string_view text) {
  return header(status, "text/plain; charset=utf-8", text.size()) + std::string(text);
}

}  // namespace

struct PageServer::Connection {
  host::UniqueFd fd;
  Clock::time_point deadline = Clock::now() + kPatience;
  std::string request{};
  std::string head{};  // of the answer; empty: the request is not complete
  std::shared_ptr<const std::string> body{};
  std::size_t sent = 0;  // of head and body together
};

Result<PageServer> PageServer::create() {
  PageServer server;
  auto token = host::make_secret();
  if (!token) return token.error().with_context("cannot create an address for the pages");
  server.token_ = *std::move(token);
  server.listener_ =
      host::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // NOLINTNEXTLINE: the socket API's own cast
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int fd = server.listener_.value();
  if (!server.listener_ || ::bind(fd, generic, size) != 0 || ::listen(fd, 16) != 0 ||
      ::getsockname(fd, generic, &size) != 0) {
    return system_error("cannot listen on 127.0.0.1", errno);
  }
  server.port_ = ntohs(address.sin_port);
  return server;
}

void PageServer::add(const std::string& path, std::string type, Maker make) {
  pages_[path] = {std::move(type), std::move(make), nullptr};
}

std::string PageServer::url() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port_, token_);
}

Result<void> PageServer::run(int stop_fd) {
  std::map<int, Connection> connections;
  while (true) {
    std::vector<pollfd> waits = {{stop_fd, POLLIN, 0}, {listener_.value(), POLLIN, 0}};
    for (const auto& [fd, connection] : connections) {
      const short wanted = connection.head.empty() ? POLLIN : POLLOUT;
      waits.push_back({fd, wanted, 0});
    }
    if (::poll(waits.data(), waits.size(), connections.empty() ? -1 : 1000) < 0 && errno != EINTR) {
      return system_error("cannot wait for requests", errno);
    }
    if (waits[0].revents != 0) return {};
    for (std::size_t index = 2; index < waits.size(); ++index) {
      Connection& connection = connections.at(waits[index].fd);
      const bool lives = waits[index].revents == 0 || go_on(connection);
      if (!lives || Clock::now() > connection.deadline) connections.erase(waits[index].fd);
    }
    if (waits[1].revents != 0) accept_all(connections);
  }
}

void PageServer::accept_all(std::map<int, Connection>& connections) {
  while (true) {
    host::UniqueFd fd(::accept4(listener_.value(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (connections.size() >= kMaxConnections) continue;  // closed at once
    const int number = fd.value();
    connections.emplace(number, Connection{.fd = std::move(fd)});
  }
}

// Returns false if the connection is finished.
bool PageServer::go_on(Connection& connection) {
  return connection.head.empty() ? receive(connection) : send(connection);
}

bool PageServer::receive(Connection& connection) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::recv(connection.fd.value(), buffer.data(), buffer.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.request.append(buffer.data(), static_cast<std::size_t>(count));
  Request request;
  if (parse_request(connection.request, request) == RequestState::kIncomplete) return true;
  connection.head = respond(connection.request, connection.body);
  connection.deadline = Clock::now() + kPatience;
  return send(connection);
}

bool PageServer::send(Connection& connection) {
  const std::size_t head = connection.head.size();
  const std::size_t whole = head + (connection.body ? connection.body->size() : 0);
  while (connection.sent < whole) {
    const std::string_view rest =
        connection.sent < head ? std::string_view(connection.head).substr(connection.sent)
                               : std::string_view(*connection.body).substr(connection.sent - head);
    const ssize_t count =
        ::send(connection.fd.value(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent += static_cast<std::size_t>(count);
    connection.deadline = Clock::now() + kPatience;
  }
  ::shutdown(connection.fd.value(), SHUT_WR);
  return false;
}

// Returns the head of the answer, with the text of short answers; longer texts are put in `body`.
std::string PageServer::respond(std::string_view bytes, std::shared_ptr<const std::string>& body) {
  Request request;
  if (parse_request(bytes, request) == RequestState::kBad) {
    return short_answer("400 Bad Request", "Malformed request.\n");
  }
  // Prevents DNS rebinding: a foreign page could resolve its own name to 127.0.0.1 and read
  // the answers.
  if (!is_own_host(request.host)) return short_answer("403 Forbidden", "Wrong host name.\n");
  if (request.method != "GET" && request.method != "HEAD") {
    return short_answer("405 Method Not Allowed", "Only GET.\n");
  }
  const std::string prefix = "/" + token_ + "/";
  const auto found = request.path.starts_with(prefix)
                         ? pages_.find(request.path.substr(prefix.size()))
                         : pages_.end();
  if (found == pages_.end()) {
    return short_answer("404 Not Found", "No such page: use the whole URL that swipr printed.\n");
  }
  Page& page = found->second;
  if (!page.text) {
    auto made = page.make();
    if (!made) return short_answer("500 Internal Server Error", made.error().message() + "\n");
    page.text = std::make_shared<const std::string>(*std::move(made));
  }
  if (request.method == "GET") body = page.text;
  return header("200 OK", page.type, page.text->size());
}

bool PageServer::is_own_host(std::string_view host) const {
  return host == fmt::format("127.0.0.1:{}", port_) || host == fmt::format("localhost:{}", port_);
}

}  // namespace swipr::serve
