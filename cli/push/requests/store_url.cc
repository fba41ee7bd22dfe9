#include "cli/push/requests/store_url.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace swipr::push {

namespace {

using host::Error;
using host::Result;

struct Scheme {
  std::string_view prefix;
  Engine engine;
};
constexpr auto kSchemes = std::to_array<Scheme>({{"pyroscope+", Engine::kPyroscope},
                                                 {"parca+", Engine::kParca},
                                                 {"gprofiler+", Engine::kStudio},
                                                 {"otlp+", Engine::kOtlp}});

struct Authority {
  std::string user, password;
  std::string host;
  std::uint16_t port = 0;
};

std::optional<int> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

// Source: RFC 3986, 2.1. Invalid sequences are kept.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const bool escape = text[index] == '%' && index + 2 < text.size();
    const auto high = escape ? hex_digit(text[index + 1]) : std::nullopt;
    const auto low = escape ? hex_digit(text[index + 2]) : std::nullopt;
    if (high && low) {
      out += static_cast<char>(*high * 16 + *low);
      index += 2;
    } else {
      out += text[index];
    }
  }
  return out;
}

bool is_host_text(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Printable and without blanks, so that no header or request line can be ended by it.
bool is_path_text(std::string_view text) {
  for (const char byte : text) {
    if (byte <= ' ' || byte > '~') return false;
  }
  return true;
}

std::optional<Authority> parse_authority(std::string_view text, std::uint16_t default_port) {
  Authority result;
  result.port = default_port;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = text.substr(0, at);
    const std::size_t colon = login.find(':');
    result.user = decoded(login.substr(0, colon));
    if (colon != std::string_view::npos) result.password = decoded(login.substr(colon + 1));
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    result.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
  } else {
    const std::size_t colon = text.find(':');
    result.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (!is_host_text(result.host)) return std::nullopt;
  if (port.empty()) return result;
  const char* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data() + 1, end, result.port);
  if (port.front() != ':' || error != std::errc() || stop != end || result.port == 0) {
    return std::nullopt;
  }
  return result;
}

bool matches_no_proxy(std::string_view host, std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view entry = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    if (entry == "*") return true;
    if (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.empty() || !host.ends_with(entry)) continue;
    if (host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.') return true;
  }
  return false;
}

}  // namespace

std::string StoreUrl::origin() const {
  const bool is_ip6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", tls ? "https" : "http", is_ip6 ? "[" : "", host,
                     is_ip6 ? "]" : "", port);
}

bool is_store_url(std::string_view text) {
  for (const Scheme& scheme : kSchemes) {
    if (text.starts_with(scheme.prefix)) return true;
  }
  return text.find("://") != std::string_view::npos;
}

Result<StoreUrl> parse_url(std::string_view text) {
  StoreUrl url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://")) return Error("not an http:// or https:// URL");
  text.remove_prefix(url.tls ? 8 : 7);
  const std::size_t slash = text.find('/');
  auto authority = parse_authority(text.substr(0, slash), url.tls ? 443 : 80);
  if (!authority) return Error("the URL has no host, or what follows it is no port");
  if (slash != std::string_view::npos) url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (!is_path_text(url.path) || url.path.find_first_of("?#") != std::string::npos) {
    return Error("the URL has a query, a fragment or a blank");
  }
  url.host = std::move(authority->host);
  url.port = authority->port;
  url.user = std::move(authority->user);
  url.password = std::move(authority->password);
  return url;
}

Result<StoreUrl> parse_store_url(std::string_view text) {
  std::string_view rest = text;
  const Scheme* scheme = nullptr;
  for (const Scheme& each : kSchemes) {
    if (rest.starts_with(each.prefix)) scheme = &each;
  }
  if (scheme != nullptr) rest.remove_prefix(scheme->prefix.size());
  if (scheme == nullptr || (!rest.starts_with("https://") && !rest.starts_with("http://"))) {
    return Error(
        "not a store's URL: use pyroscope+http://HOST:4040, parca+https://HOST:7070, "
        "otlp+http://HOST:4318 or gprofiler+https://HOST");
  }
  auto url = parse_url(rest);
  if (url) url->engine = scheme->engine;
  return url;
}

Result<Proxy> choose_proxy(const StoreUrl& url, const ProxyVariables& variables) {
  if (matches_no_proxy(url.host, variables.no_proxy)) return Proxy{};
  std::string_view text = url.tls ? variables.https_proxy : variables.http_proxy;
  if (text.empty()) text = variables.all_proxy;
  if (text.empty()) return Proxy{};
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.find("://") != std::string_view::npos) {
    return Error("the proxy of the environment is not an http:// URL");
  }
  const auto authority = parse_authority(text.substr(0, text.find('/')), 80);
  if (!authority) return Error("the proxy of the environment is not an http:// URL");
  return Proxy{authority->host, authority->port, authority->user, authority->password};
}

}  // namespace swipr::push
