#include "cli/push/send/http_client.h"

#include <httplib.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "cli/push/requests/otlp.h"

namespace swipr::push {

namespace {

constexpr int kConnectSeconds = 10;
constexpr int kAnswerSeconds = 30;
constexpr std::size_t kMostAnswerBytes = 4096;

std::chrono::seconds retry_after(const std::string& text) {
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return std::chrono::seconds(is_number ? static_cast<int>(std::min(seconds, 3600u)) : -1);
}

}  // namespace

class HttpClient::Connection {
 public:
  explicit Connection(const std::string& origin) : client(origin) {
    client.set_keep_alive(true);
    client.set_follow_location(false);  // a redirection would take the token elsewhere
    client.set_connection_timeout(kConnectSeconds);
    client.set_read_timeout(kAnswerSeconds);
    client.set_write_timeout(kAnswerSeconds);
  }
  httplib::Client client;
};

HttpClient::HttpClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

host::Result<HttpClient> HttpClient::create(const std::string& origin, const Proxy& proxy,
                                            const std::string& ca_file) {
  auto connection = std::make_unique<Connection>(origin);
  if (!proxy.host.empty()) {
    connection->client.set_proxy(proxy.host, proxy.port);
    if (!proxy.user.empty()) {
      connection->client.set_proxy_basic_auth(proxy.user, proxy.password);
    }
  }
  if (!ca_file.empty()) {
    if (::access(ca_file.c_str(), R_OK) != 0) {
      return host::system_error("cannot read " + ca_file, errno);
    }
    connection->client.set_ca_cert_path(ca_file);
  }
  return HttpClient(std::move(connection));
}

Answer HttpClient::post(const Request& request) {
  httplib::Headers headers;
  std::string type = "application/octet-stream";
  for (const auto& [name, value] : request.headers) {
    if (name == "Content-Type") {
      type = value;
    } else {
      headers.emplace(name, value);
    }
  }
  const httplib::Result result =
      connection_->client.Post(request.path, headers, request.body, type);
  Answer answer;
  if (result) {
    answer.status = result->status;
    answer.was_sent = true;
    answer.retry_after = retry_after(result->get_header_value("Retry-After"));
    answer.text = result->body.substr(0, kMostAnswerBytes);
    if (result->get_header_value("Content-Type") == "application/x-protobuf") {
      const auto rejection = otlp_rejection(result->body);
      answer.is_partial = rejection.has_value();
      answer.text = rejection.value_or("").substr(0, kMostAnswerBytes);
    }
    return answer;
  }
  // Only the reading follows the sending of the whole request.
  answer.was_sent = result.error() == httplib::Error::Read;
  answer.text = httplib::to_string(result.error());
  return answer;
}

}  // namespace swipr::push
