#include "preload/agent/base/text/utc_time.h"

namespace swipr::agent {

// The proleptic Gregorian calendar in eras of 400 years. Years begin in March, so that the leap day
// is the last day.
UtcTime utc_time(std::uint64_t seconds) noexcept {
  constexpr std::uint64_t kSecondsOfDay = 86'400;
  constexpr std::uint64_t kDaysOfEra = 146'097;
  constexpr std::uint64_t kDaysBefore1970 = 719'468;  // since 1 March of the year 0
  const std::uint64_t days = seconds / kSecondsOfDay + kDaysBefore1970;
  const std::uint64_t day_of_era = days % kDaysOfEra;
  const std::uint64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t month = (5 * day_of_year + 2) / 153;  // 0: March; 153 days in five months
  const std::uint64_t second_of_day = seconds % kSecondsOfDay;
  return {
      .year = days / kDaysOfEra * 400 + year_of_era + (month >= 10 ? 1 : 0),
      .month = month < 10 ? month + 3 : month - 9,
      .day = day_of_year - (153 * month + 2) / 5 + 1,
      .hour = second_of_day / 3'600,
      .minute = second_of_day / 60 % 60,
      .second = second_of_day % 60,
  };
}

}  // namespace swipr::agent
