#include "cli/session/find/listening_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/host/proc.h"

namespace swipr::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ParseListeningPaths, TakesThoseThatAcceptConnections) {
  EXPECT_THAT(
      parse_listening_paths(
          "Num       RefCount Protocol Flags    Type St Inode Path\n"
          "000000006dafcbc5: 00000002 00000000 00010000 0001 01 2183192 /run/a b.sock\n"
          "00000000fa3cc2c5: 00000003 00000000 00000000 0001 03  1145 /run/connected\n"
          "00000000fa3cc2c6: 00000002 00000000 00010000 0001 01    17 @abstract\n"
          "00000000fa3cc2c7: 00000002 00000000 00010000 0001 01    18\n"
          "00000000fa3cc2c8: 00000002 00000000 00010000 0001 01 19 /tmp/.swipr-7-4026531836"),
      ElementsAre("/run/a b.sock", "/tmp/.swipr-7-4026531836"));
}

TEST(ParseListeningPaths, SurvivesAnyText) {
  for (const char* text : {"", "\n", "a", "a b c 00010000", "a b c 00010000 d e f", "\n\n /x\n"}) {
    EXPECT_THAT(parse_listening_paths(text), IsEmpty()) << text;
  }
}

TEST(ListeningSockets, KnowsNothingOfPlacesThatAreNotThere) {
  ListeningSockets sockets(host::list_processes());
  EXPECT_FALSE(sockets.find_listener({"/no/such/folder", "1.sock"}, std::nullopt));
  EXPECT_FALSE(sockets.find_listener({"/no/such/folder", "x.sock"}, std::nullopt));
}

}  // namespace
}  // namespace swipr::session
