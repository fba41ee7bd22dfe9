#include "cli/push/send/http_client.h"

#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "cli/push/requests/otlp.h"

namespace swipr::push {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::seconds;
using TlsStream = asio::ssl::stream<beast::tcp_stream&>;
using Message = http::request<http::string_body>;
using AnswerParser = http::response_parser<http::string_body>;

constexpr seconds kConnectTime{10};
constexpr seconds kAnswerTime{30};
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 10;
constexpr std::size_t kMostTextBytes = 4096;

// Where distributions keep the certificates that they trust: Debian and Alpine, Fedora and its
// descendants, SUSE. A library that was linked statically knows the place of one of them only.
constexpr std::array kTrustedCertificates{"/etc/ssl/certs/ca-certificates.crt",
                                          "/etc/pki/tls/certs/ca-bundle.crt",
                                          "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

seconds retry_after(beast::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return seconds(is_number ? static_cast<int>(std::min(value, 3600u)) : -1);
}

Answer failure(std::string text) {
  Answer answer;
  answer.text = std::move(text);
  return answer;
}

Answer lasting_failure(std::string text) {
  Answer answer = failure(std::move(text));
  answer.is_lasting = true;
  return answer;
}

std::string describe(const char* what, const error_code& error, seconds time) {
  if (error == beast::error::timeout) {
    return std::string(what) + " within " + std::to_string(time.count()) + " s";
  }
  return std::string(what) + ": " + error.message();
}

Answer answer_of(const AnswerParser& parser) {
  const auto& message = parser.get();
  Answer answer;
  answer.status = static_cast<int>(message.result_int());
  answer.was_sent = true;
  answer.retry_after = retry_after(message[http::field::retry_after]);
  answer.text = message.body().substr(0, kMostTextBytes);
  if (message[http::field::content_type] == "application/x-protobuf") {
    const auto rejection = otlp_rejection(message.body());
    answer.is_partial = rejection.has_value();
    answer.text = rejection.value_or("").substr(0, kMostTextBytes);
  }
  return answer;
}

std::string certificate_failure(long result) {
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return "the certificate is for another host name";
  }
  return std::string("the certificate cannot be verified: ") +
         X509_verify_cert_error_string(result) + " (--ca-file FILE: the authorities to be trusted)";
}

constexpr unsigned kProxyAuthenticationRequired = 407;  // RFC 9110, 15.5.8

Answer refused_by_proxy(unsigned status) {
  if (status == kProxyAuthenticationRequired) {
    return lasting_failure("the proxy asks for a name and password, or for others (status 407)");
  }
  return failure("the proxy cannot connect to the store: status " + std::to_string(status));
}

}  // namespace

class HttpClient::Connection {
 public:
  Connection(const StoreUrl& store, Proxy proxy) : store_(store), proxy_(std::move(proxy)) {}

  host::Result<void> trust(const std::string& ca_file) {
    tls_.set_verify_mode(asio::ssl::verify_peer);
    error_code error;
    if (!ca_file.empty()) {
      if (::access(ca_file.c_str(), R_OK) != 0) {
        return host::system_error("cannot read " + ca_file, errno);
      }
      tls_.load_verify_file(ca_file, error);
      if (error) return host::Error(ca_file + ": no certificate in PEM in it");
      return {};
    }
    tls_.set_default_verify_paths(error);
    for (const char* file : kTrustedCertificates) {
      if (::access(file, R_OK) != 0) continue;
      tls_.load_verify_file(file, error);
      if (!error) break;
    }
    return {};
  }

  Answer post(const Request& request) {
    if (!is_open()) {
      close();
      if (auto failed = connect()) {
        close();
        return *failed;
      }
    }
    const Message message = message_of(request);
    Answer answer = stream_ ? exchange(*stream_, message) : exchange(tcp_, message);
    if (answer.status == 0) close();
    return answer;
  }

 private:
  bool is_proxied() const { return !proxy_.host.empty(); }

  // Starts an operation, and waits for its end.
  template <typename Start>
  error_code run(seconds time, Start start) {
    error_code result;
    tcp_.expires_after(time);
    start([&result](const error_code& error, auto&&...) { result = error; });
    context_.restart();
    context_.run();
    tcp_.expires_never();
    return result;
  }

  // A server closes connections that nobody uses: a request must not be sent into one.
  bool is_open() {
    if (!is_connected_) return false;
    char byte = 0;
    const ssize_t count = ::recv(tcp_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  void close() {
    stream_.reset();
    tcp_.close();
    buffer_.clear();
    is_connected_ = false;
  }

  std::optional<Answer> connect() {
    const std::string& host = is_proxied() ? proxy_.host : store_.host;
    const std::string port = std::to_string(is_proxied() ? proxy_.port : store_.port);
    error_code error;
    const auto places = asio::ip::tcp::resolver(context_).resolve(host, port, error);
    if (error) return failure("cannot find " + host + ": " + error.message());
    error = run(kConnectTime, [&](auto done) { tcp_.async_connect(places, done); });
    if (error) return failure(describe("cannot connect", error, kConnectTime));
    if (store_.tls && is_proxied()) {
      if (auto failed = open_tunnel()) return failed;
    }
    if (store_.tls) {
      if (auto failed = shake_hands()) return failed;
    }
    is_connected_ = true;
    return std::nullopt;
  }

  // Source: RFC 9110, 9.3.6.
  std::optional<Answer> open_tunnel() {
    const std::string store = authority();
    http::request<http::empty_body> request(http::verb::connect, store, 11);
    request.set(http::field::host, store);
    authenticate(request);
    http::response_parser<http::empty_body> answer;
    answer.skip(true);  // what follows an acceptance is the store's
    error_code error =
        run(kConnectTime, [&](auto done) { http::async_write(tcp_, request, done); });
    if (!error) {
      error = run(kConnectTime,
                  [&](auto done) { http::async_read_header(tcp_, buffer_, answer, done); });
    }
    if (error) return failure(describe("no answer of the proxy", error, kConnectTime));
    const unsigned status = answer.get().result_int();
    if (status / 100 != 2) return refused_by_proxy(status);
    return std::nullopt;
  }

  std::optional<Answer> shake_hands() {
    stream_.emplace(tcp_, tls_);
    SSL* const tls = stream_->native_handle();
    error_code error;
    if (asio::ip::make_address(store_.host, error); !error) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), store_.host.c_str());
    } else {
      SSL_set1_host(tls, store_.host.c_str());
      // SSL_set_tlsext_host_name, without its cast.
      SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, store_.host.data());
    }
    error = run(kConnectTime,
                [&](auto done) { stream_->async_handshake(asio::ssl::stream_base::client, done); });
    if (!error) return std::nullopt;
    const long verified = SSL_get_verify_result(tls);
    if (verified != X509_V_OK) return lasting_failure(certificate_failure(verified));
    Answer answer = failure(describe("no TLS connection", error, kConnectTime));
    answer.is_lasting = error.category() == asio::error::get_ssl_category();  // of the protocol
    return answer;
  }

  // Source: RFC 9112, 3.2.2: a proxy is told the whole URL.
  Message message_of(const Request& request) const {
    const bool by_proxy = is_proxied() && !store_.tls;
    Message message(http::verb::post, (by_proxy ? store_.origin() : "") + request.path, 11);
    message.set(http::field::host, authority());
    message.set(http::field::user_agent, "swipr/" SWIPR_VERSION);
    message.set(http::field::content_type, "application/octet-stream");
    for (const auto& [name, value] : request.headers) message.set(name, value);
    if (by_proxy) authenticate(message);
    message.body() = request.body;
    message.prepare_payload();
    return message;
  }

  template <typename Stream>
  Answer exchange(Stream& stream, const Message& message) {
    const error_code unsent =
        run(kAnswerTime, [&](auto done) { http::async_write(stream, message, done); });
    if (unsent == beast::error::timeout) return failure(describe("not sent", unsent, kAnswerTime));
    // A store may refuse a request, and close, before it has read all of it.
    AnswerParser parser;
    parser.body_limit(kMostAnswerBytes);
    const error_code error =
        run(kAnswerTime, [&](auto done) { http::async_read(stream, buffer_, parser, done); });
    const bool is_answered =
        !error || (error == http::error::body_limit && parser.is_header_done());
    if (!is_answered) {
      Answer answer = failure(unsent ? describe("not sent", unsent, kAnswerTime)
                                     : describe("no answer", error, kAnswerTime));
      answer.was_sent = !unsent;
      return answer;
    }
    const unsigned status = parser.get().result_int();
    if (unsent || error || !parser.keep_alive()) close();
    if (is_proxied() && status == kProxyAuthenticationRequired) return refused_by_proxy(status);
    return answer_of(parser);
  }

  // As it stands in a URL.
  std::string authority() const {
    const std::string origin = store_.origin();
    return origin.substr(origin.find("://") + 3);
  }

  template <typename Any>
  void authenticate(Any& request) const {
    if (proxy_.user.empty()) return;
    request.set(http::field::proxy_authorization,
                "Basic " + base64(proxy_.user + ":" + proxy_.password));
  }

  StoreUrl store_;
  Proxy proxy_;
  asio::io_context context_{1};
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  beast::tcp_stream tcp_{context_};
  std::optional<TlsStream> stream_;
  beast::flat_buffer buffer_{kMostAnswerBytes};
  bool is_connected_ = false;
};

HttpClient::HttpClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

host::Result<HttpClient> HttpClient::create(const SendPlace& place) {
  const auto store = parse_url(place.origin);
  if (!store) return store.error();
  auto connection = std::make_unique<Connection>(*store, place.proxy);
  if (store->tls || !place.ca_file.empty()) {
    if (auto trusted = connection->trust(place.ca_file); !trusted) return trusted.error();
  }
  return HttpClient(std::move(connection));
}

Answer HttpClient::post(const Request& request) { return connection_->post(request); }

}  // namespace swipr::push
