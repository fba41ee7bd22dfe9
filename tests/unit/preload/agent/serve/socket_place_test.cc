#include "preload/agent/serve/socket_place.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace swipr::agent {
namespace {

using Kind = ServerPlace::Kind;

std::vector<std::string> directories(std::string_view socket_directory,
                                     std::string_view runtime_directory) {
  Settings settings;
  settings.socket_directory = socket_directory;
  settings.runtime_directory = runtime_directory;
  std::vector<std::string> all;
  PathText out;
  for (;;) {
    const auto round = static_cast<unsigned>(all.size());
    const SocketDirectory which = write_socket_directory(settings, 1000, round, out);
    all.emplace_back(out.view());
    if (which == SocketDirectory::kLast) return all;
  }
}

TEST(AgentSocketPlace, DirectoriesFollowTheirSources) {
  using All = std::vector<std::string>;
  EXPECT_EQ(directories("/run/own", "/run/user/1000"), All{"/run/own"});
  EXPECT_EQ(directories("/run/own//", ""), All{"/run/own"});
  EXPECT_EQ(directories("", "/run/user/1000"),
            (All{"/run/user/1000/swipr", "/run/swipr/1000", "/tmp/swipr-1000"}));
  EXPECT_EQ(directories("relative", "relative"), (All{"/run/swipr/1000", "/tmp/swipr-1000"}));
}

TEST(AgentSocketPlace, DirectoryMayDependOnTheUser) {
  using All = std::vector<std::string>;
  EXPECT_EQ(directories("/pod/{UID}", ""), All{"/pod/1000"});
  EXPECT_EQ(directories("/pod-{UID}/x{UID}/{PID}/", ""), All{"/pod-1000/x1000/{PID}"});
}

TEST(AgentSocketPlace, PatternsAreReplaced) {
  PathText out;
  const Uuid uuid = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef,
                     0x80, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde};
  expand_url_pattern("unix:///run/{PID}/{UUID}{PID}{X}.sock", 42, uuid, out);
  EXPECT_EQ(out.view(), "unix:///run/42/01234567-89ab-4def-8012-3456789abcde42{X}.sock");
}

TEST(AgentSocketPlace, UnixUrlsNameAFile) {
  ServerPlace place;
  ASSERT_EQ(parse_server_url("unix:///run/a%20b.sock", place), nullptr);
  EXPECT_EQ(place.kind, Kind::kUnix);
  EXPECT_EQ(place.path.view(), "/run/a%20b.sock");
  ServerPlace encoded;
  ASSERT_EQ(parse_server_url("http+unix://%2Frun%2fa%20b.sock", encoded), nullptr);
  EXPECT_EQ(encoded.path.view(), "/run/a b.sock");
}

TEST(AgentSocketPlace, HttpUrlsNameHostAndPort) {
  ServerPlace place;
  ASSERT_EQ(parse_server_url("http://127.0.0.1:7000/", place), nullptr);
  EXPECT_EQ(place.kind, Kind::kTcp);
  EXPECT_EQ(place.host.view(), "127.0.0.1");
  EXPECT_EQ(place.port, 7000);
  ServerPlace ip6;
  ASSERT_EQ(parse_server_url("http://[::1]:0", ip6), nullptr);
  EXPECT_EQ(ip6.host.view(), "::1");
  ServerPlace name;
  ASSERT_EQ(parse_server_url("http://localhost:80", name), nullptr);
  EXPECT_EQ(name.host.view(), "127.0.0.1");
}

TEST(AgentSocketPlace, WrongUrlsAreRefused) {
  for (const char* url :
       {"", "/run/a.sock", "unix://relative", "unix:///run/", "http+unix://%2Frun%zz",
        "http+unix://%2Frun%0", "http+unix://%2Frun%00a", "http://127.0.0.1", "http://:80",
        "http://127.0.0.1:65536", "http://127.0.0.1:80x", "http://[::1", "https://127.0.0.1:80"}) {
    ServerPlace place;
    EXPECT_NE(parse_server_url(url, place), nullptr) << url;
  }
}

TEST(AgentSocketPlace, OnlyThisMachineIsALoopbackHost) {
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1:80", "127.1.2.3", "[::1]:80"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "example.org", "127.0.0.1.example.org:80", "localhost.example.org",
                           "10.0.0.1:80", "[::2]:80"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(AgentSocketPlace, APageOfAnotherSiteHasAnotherOrigin) {
  EXPECT_TRUE(is_same_origin("http://127.0.0.1:6060", "127.0.0.1:6060"));
  for (const char* origin : {"", "null", "http://", "https://127.0.0.1:6060", "127.0.0.1:6060",
                             "http://127.0.0.1:6061", "http://127.0.0.1:6060.example.org"}) {
    EXPECT_FALSE(is_same_origin(origin, "127.0.0.1:6060")) << origin;
  }
}

}  // namespace
}  // namespace swipr::agent
