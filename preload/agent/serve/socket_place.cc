#include "preload/agent/serve/socket_place.h"

#include <charconv>

#include "preload/agent/base/text/text_view.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool decode_percent(std::string_view text, TextWriter& out) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.append(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0 || (high | low) == 0) return false;  // %00 would cut the path short
    out.append(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

void append_uuid(const Uuid& uuid, TextWriter& out) noexcept {
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.append('-');
    out.append_hex(uuid[i], 2);
  }
}

const char* check_path(ServerPlace& out) noexcept {
  if (out.path.overflowed()) return "the socket path is too long";
  if (!out.path.view().starts_with('/')) return "the socket path is not absolute";
  if (out.path.view().ends_with('/')) return "the socket path ends with a slash";
  return nullptr;
}

const char* parse_unix(std::string_view path, bool encoded, ServerPlace& out) noexcept {
  out.kind = ServerPlace::Kind::kUnix;
  if (encoded && !decode_percent(path, out.path)) return "a %-escape in the socket path is wrong";
  if (!encoded) out.path.append(path);
  return check_path(out);
}

struct HostPort {
  std::string_view host;
  std::string_view port;
};

HostPort split_host_port(std::string_view authority) noexcept {
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return {};
    const std::string_view rest = skip(authority, close + 1);
    return {skip(leading(authority, close), 1), rest.starts_with(':') ? skip(rest, 1) : ""sv};
  }
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos) return {authority, {}};
  return {leading(authority, colon), skip(authority, colon + 1)};
}

const char* parse_tcp(std::string_view authority, ServerPlace& out) noexcept {
  out.kind = ServerPlace::Kind::kTcp;
  if (authority.ends_with('/')) authority.remove_suffix(1);
  const HostPort parts = split_host_port(authority);
  if (parts.host.empty()) return "the host is missing";
  const char* end = parts.port.data() + parts.port.size();
  const auto parsed = std::from_chars(parts.port.data(), end, out.port);
  if (parts.port.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return "the port is missing or not a number up to 65535";
  }
  out.host.append(parts.host == "localhost"sv ? "127.0.0.1"sv : parts.host);
  return out.host.overflowed() ? "the host is too long" : nullptr;
}

void expand_uid(std::string_view pattern, uid_t uid, TextWriter& out) noexcept {
  constexpr std::string_view kUid = "{UID}";
  for (std::size_t at = pattern.find(kUid); at != std::string_view::npos; at = pattern.find(kUid)) {
    out.append(leading(pattern, at)).append_number(uid);
    pattern.remove_prefix(at + kUid.size());
  }
  out.append(pattern);
}

}  // namespace

SocketDirectory write_socket_directory(const Settings& settings, uid_t uid, unsigned round,
                                       TextWriter& out) noexcept {
  out.clear();
  if (settings.socket_directory.starts_with('/')) {
    expand_uid(settings.socket_directory, uid, out);
    while (out.size() > 1 && out.view().ends_with('/')) out.resize(out.size() - 1);
    return SocketDirectory::kLast;
  }
  if (settings.runtime_directory.starts_with('/') && round-- == 0) {
    out.append(settings.runtime_directory).append("/swipr");
    return SocketDirectory::kMayBeAnother;
  }
  out.append(round == 0 ? "/run/swipr/"sv : "/tmp/swipr-"sv).append_number(uid);
  return round == 0 ? SocketDirectory::kMayBeAnother : SocketDirectory::kLast;
}

void expand_url_pattern(std::string_view pattern, pid_t pid, const Uuid& uuid,
                        TextWriter& out) noexcept {
  out.clear();
  while (!pattern.empty()) {
    if (pattern.starts_with("{PID}")) {
      out.append_number(static_cast<std::uint64_t>(pid));
      pattern.remove_prefix("{PID}"sv.size());
    } else if (pattern.starts_with("{UUID}")) {
      append_uuid(uuid, out);
      pattern.remove_prefix("{UUID}"sv.size());
    } else {
      out.append(pattern.front());
      pattern.remove_prefix(1);
    }
  }
}

const char* parse_server_url(std::string_view url, ServerPlace& out) noexcept {
  constexpr std::string_view kUnix = "unix://";
  constexpr std::string_view kHttpUnix = "http+unix://";
  constexpr std::string_view kHttp = "http://";
  if (url.starts_with(kUnix)) return parse_unix(skip(url, kUnix.size()), false, out);
  if (url.starts_with(kHttpUnix)) return parse_unix(skip(url, kHttpUnix.size()), true, out);
  if (url.starts_with(kHttp)) return parse_tcp(skip(url, kHttp.size()), out);
  return "not unix:///path, http+unix://%2Fpath or http://host:port";
}

bool is_loopback_host(std::string_view host_header) noexcept {
  const std::string_view host = split_host_port(host_header).host;
  if (host == "localhost"sv || host == "::1"sv) return true;
  if (!host.starts_with("127.")) return false;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_same_origin(std::string_view origin_header, std::string_view host_header) noexcept {
  constexpr std::string_view kScheme = "http://";
  return origin_header.starts_with(kScheme) && skip(origin_header, kScheme.size()) == host_header;
}

}  // namespace swipr::agent
