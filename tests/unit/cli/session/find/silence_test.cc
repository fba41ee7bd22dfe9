#include "cli/session/find/silence.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace swipr::session {
namespace {

TEST(ParseOpenFileLimit, TakesTheSoftLimit) {
  EXPECT_EQ(parse_open_file_limit(
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                "Max processes             94021                94021                processes \n"
                "Max open files            12                   524288               files     \n"),
            12u);
  for (const char* text : {"", "Max open files", "Max open files   ", "Max open files unlimited",
                           "Max open files 99999999999999999999999"}) {
    EXPECT_EQ(parse_open_file_limit(text), std::nullopt) << text;
  }
}

TEST(FindReasonForSilence, FindsNothingWrongWithThisProcess) {
  EXPECT_EQ(find_reason_for_silence(Pid{::getpid()}), std::nullopt);
}

}  // namespace
}  // namespace swipr::session
