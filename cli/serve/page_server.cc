#include "cli/serve/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
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
constexpr std::ptrdiff_t kMaxStreams = 16;
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

constexpr std::string_view kStreamHeader =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n";

std::string short_answer(std::string_view status, std::string_view text) {
  return header(status, "text/plain; charset=utf-8", text.size()) + std::string(text);
}

}  // namespace

struct PageServer::Connection {
  host::UniqueFd fd;
  Clock::time_point deadline = Clock::now() + kPatience;
  std::string request{};
  std::string head{};  // of the answer, or an event; empty: the request is not complete
  std::shared_ptr<const std::string> body{};
  std::size_t sent = 0;  // of head and body together
  Feed feed{};           // of an event stream
  bool is_idle = false;  // the feed had nothing new

  // An idle stream reads only to learn that the browser has gone.
  short wanted() const { return head.empty() || is_idle ? POLLIN : POLLOUT; }
};

PageServer::PageServer() = default;
PageServer::~PageServer() = default;
PageServer::PageServer(PageServer&&) noexcept = default;
PageServer& PageServer::operator=(PageServer&&) noexcept = default;

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

void PageServer::add_stream(const std::string& path, std::function<Feed()> begin) {
  streams_[path] = std::move(begin);
}

Result<void> PageServer::run(int stop_fd) {
  pollfd stop{stop_fd, POLLIN, 0};
  while (stop.revents == 0) {
    if (auto served = serve({&stop, 1}, std::chrono::milliseconds(-1)); !served) return served;
  }
  return {};
}

Result<void> PageServer::serve(std::span<pollfd> others, std::chrono::milliseconds timeout) {
  using namespace std::chrono_literals;
  std::vector<pollfd> waits(others.begin(), others.end());
  waits.push_back({listener_.value(), POLLIN, 0});
  const std::size_t first = waits.size();
  for (const auto& [fd, connection] : connections_) waits.push_back({fd, connection.wanted(), 0});
  // Connections that are idle are looked at once a second.
  if (!connections_.empty() && (timeout < 0ms || timeout > 1s)) timeout = 1s;
  if (::poll(waits.data(), waits.size(), static_cast<int>(timeout.count())) < 0) {
    if (errno != EINTR) return system_error("cannot wait for requests", errno);
    for (pollfd& wait : waits) wait.revents = 0;
  }
  std::copy_n(waits.begin(), others.size(), others.begin());
  for (std::size_t index = first; index < waits.size(); ++index) {
    Connection& connection = connections_.at(waits[index].fd);
    const short revents = waits[index].revents;
    const bool lives =
        connection.feed ? go_on_streaming(connection, revents) : revents == 0 || go_on(connection);
    const bool is_late = !connection.feed && Clock::now() > connection.deadline;
    if (!lives || is_late) connections_.erase(waits[index].fd);
  }
  if (waits[first - 1].revents != 0) accept_all();
  return {};
}

void PageServer::push() {
  for (auto& [fd, connection] : connections_) {
    if (!std::exchange(connection.is_idle, false)) continue;
    // A failure is noticed by the next wait.
    static_cast<void>(go_on_streaming(connection, POLLOUT));
  }
}

bool PageServer::has_sent_all() const {
  return std::all_of(connections_.begin(), connections_.end(),
                     [](const auto& entry) { return !entry.second.feed || entry.second.is_idle; });
}

void PageServer::accept_all() {
  while (true) {
    host::UniqueFd fd(::accept4(listener_.value(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (connections_.size() >= kMaxConnections) continue;  // closed at once
    const int number = fd.value();
    connections_.emplace(number, Connection{.fd = std::move(fd)});
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
  respond(connection);
  if (connection.head.empty()) return true;
  connection.deadline = Clock::now() + kPatience;
  return send(connection);
}

// One event at a time, so that a page with much to be told does not hold up others.
bool PageServer::go_on_streaming(Connection& connection, short revents) {
  if ((revents & POLLIN) != 0) {
    std::array<char, 256> ignored{};
    const ssize_t count = ::recv(connection.fd.value(), ignored.data(), ignored.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
  }
  if ((revents & POLLOUT) == 0) return (revents & (POLLERR | POLLHUP)) == 0;
  if (connection.sent == connection.head.size()) {
    const std::string event = connection.feed();
    connection.is_idle = event.empty();
    if (connection.is_idle) return true;
    connection.head = fmt::format("data: {}\n\n", event);
    connection.sent = 0;
  }
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
  if (connection.feed) return true;
  ::shutdown(connection.fd.value(), SHUT_WR);
  return false;
}

void PageServer::respond(Connection& connection) {
  Request request;
  const RequestState state = parse_request(connection.request, request);
  if (state == RequestState::kIncomplete) return;
  connection.head = state == RequestState::kBad
                        ? short_answer("400 Bad Request", "Malformed request.\n")
                        : answer(request, connection);
}

// Returns the head of the answer, with the text of short answers; longer texts become the body.
std::string PageServer::answer(const Request& request, Connection& connection) {
  // Prevents DNS rebinding: a foreign page could resolve its own name to 127.0.0.1 and read
  // the answers.
  if (!is_own_host(request.host)) return short_answer("403 Forbidden", "Wrong host name.\n");
  if (!request.origin.empty() && request.origin != "http://" + request.host) {
    return short_answer("403 Forbidden", "Wrong origin.\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return short_answer("405 Method Not Allowed", "Only GET.\n");
  }
  const std::string prefix = "/" + token_ + "/";
  const std::string path =
      request.path.starts_with(prefix) ? request.path.substr(prefix.size()) : "/";
  if (const auto stream = streams_.find(path); stream != streams_.end()) {
    const bool is_get = request.method == "GET";
    return begin_stream(is_get ? &connection : nullptr, stream->second);
  }
  const auto found = pages_.find(path);
  if (found == pages_.end()) {
    return short_answer("404 Not Found", "No such page: use the whole URL that swipr printed.\n");
  }
  Page& page = found->second;
  if (!page.text) {
    auto made = page.make();
    if (!made) return short_answer("500 Internal Server Error", made.error().message() + "\n");
    page.text = std::make_shared<const std::string>(*std::move(made));
  }
  if (request.method == "GET") connection.body = page.text;
  return header("200 OK", page.type, page.text->size());
}

// `connection`: nullptr for the head only.
std::string PageServer::begin_stream(Connection* connection, const std::function<Feed()>& begin) {
  const auto streams =
      std::count_if(connections_.begin(), connections_.end(),
                    [](const auto& entry) { return entry.second.feed != nullptr; });
  if (streams >= kMaxStreams) {
    return short_answer("503 Service Unavailable", "Too many pages follow this process.\n");
  }
  if (connection != nullptr) connection->feed = begin();
  return fmt::format("{}{}\r\n", kStreamHeader, kHeaders);
}

bool PageServer::is_own_host(std::string_view host) const {
  return host == fmt::format("127.0.0.1:{}", port_) || host == fmt::format("localhost:{}", port_);
}

}  // namespace swipr::serve
