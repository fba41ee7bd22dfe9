#include "cli/session/find/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace swipr::session {
namespace {

using namespace std::string_view_literals;
using testing::Contains;
using testing::ElementsAre;

TEST(ParseSocketName, ReadsPidAndNamespace) {
  const auto plain = parse_socket_name("4711.sock");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->pid, 4711);
  EXPECT_EQ(plain->pid_namespace, std::nullopt);
  const auto inner = parse_socket_name("1-4026531836.sock");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->pid, 1);
  EXPECT_EQ(inner->pid_namespace, 4026531836u);
}

TEST(ParseSocketName, RefusesOtherFiles) {
  for (const char* name : {"", ".sock", "0.sock", "-1.sock", "1-.sock", "1-2-3.sock", "x.sock",
                           "1.sock2", "1", "99999999999.sock", "1 .sock"}) {
    EXPECT_FALSE(parse_socket_name(name)) << name;
  }
}

TEST(SocketDirectories, StartWithWhatTheEnvironmentSays) {
  EXPECT_THAT(
      socket_directories(1000, "XDG_RUNTIME_DIR=/run/user/1000\0SWIPR_SOCKET_DIR=/s\0"sv),
      ElementsAre("/s", "/s/1000", "/run/user/1000/swipr", "/run/swipr/1000", "/tmp/swipr-1000"));
  EXPECT_THAT(socket_directories(5, ""),
              ElementsAre("/run/swipr/5", "/tmp/swipr-5", "/run/user/5/swipr"));
  EXPECT_THAT(socket_directories(5, "SWIPR_SOCKET_DIR=/pod/{UID}"), Contains("/pod/5"));
}

TEST(ParseServerUrl, FindsUnixSockets) {
  const Pid pid{42};
  EXPECT_EQ(parse_server_url("unix:///run/app-{PID}.sock", pid), (Place{"/run", "app-42.sock"}));
  EXPECT_EQ(parse_server_url("http+unix://%2Ftmp%2Fx%20y.sock", pid), (Place{"/tmp", "x y.sock"}));
  EXPECT_EQ(parse_server_url("unix:///top", pid), (Place{"/", "top"}));
}

TEST(ParseServerUrl, RefusesOthers) {
  for (const char* url :
       {"http://127.0.0.1:80", "unix://relative", "unix:///folder/", "unix://", ""}) {
    EXPECT_FALSE(parse_server_url(url, Pid{1})) << url;
  }
}

TEST(FindPlaces, HoldTheDefaultPlaceOfThisProcess) {
  const Pid self{::getpid()};
  const auto status = host::read_process_status(self);
  ASSERT_TRUE(status);
  const auto places = find_places(self, *status);
  EXPECT_THAT(places, Contains(Place{"/tmp/swipr-" + std::to_string(::geteuid()),
                                     std::to_string(status->namespace_pid.value) + ".sock"}));
}

}  // namespace
}  // namespace swipr::session
