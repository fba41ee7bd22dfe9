#include "preload/agent/base/text/utc_time.h"

#include <gtest/gtest.h>
#include <time.h>

namespace swipr::agent {
namespace {

TEST(UtcTime, IsLibcsOnEveryDayOfFourHundredYears) {
  constexpr std::uint64_t kSecondsOfDay = 86'400;
  constexpr std::uint64_t kDays = 400 * 366;
  for (std::uint64_t day = 0; day < kDays; ++day) {
    // A different second of each day, so that all hours, minutes and seconds occur.
    const std::uint64_t seconds = day * kSecondsOfDay + day * 7'919 % kSecondsOfDay;
    const auto moment = static_cast<time_t>(seconds);
    tm expected{};
    ASSERT_NE(::gmtime_r(&moment, &expected), nullptr);
    const UtcTime time = utc_time(seconds);
    ASSERT_EQ(time, (UtcTime{.year = static_cast<std::uint64_t>(expected.tm_year) + 1900,
                             .month = static_cast<std::uint64_t>(expected.tm_mon) + 1,
                             .day = static_cast<std::uint64_t>(expected.tm_mday),
                             .hour = static_cast<std::uint64_t>(expected.tm_hour),
                             .minute = static_cast<std::uint64_t>(expected.tm_min),
                             .second = static_cast<std::uint64_t>(expected.tm_sec)}))
        << seconds;
  }
}

}  // namespace
}  // namespace swipr::agent
