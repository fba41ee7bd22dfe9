// What `swipr latency` prints: a table of quantiles, the ways that calls take, histograms side by
// side. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/trace/durations.h"

namespace swipr::tracing {

struct FunctionLatency {
  std::string name;
  std::string module;  // short name of its file
  Durations durations;
  std::chrono::nanoseconds traced{0};      // for how long
  std::uint64_t open = 0;                  // calls that have not returned
  std::string end{};                       // why it is no longer traced; empty: it is
  std::uint64_t elsewhere = 0;             // calls from other places than those asked for
  std::vector<FunctionLatency> threads{};  // the same of each, by name
  std::uint64_t tid = 0;
};

struct Page {
  std::size_t columns = 80;
  bool has_utf8 = true;
};

// "two ways: 0.8 ms (93 %), 4.1 ms (7 %)"; empty: there is one, or none.
std::string describe_modes(const Durations& durations);

// Everything about all calls, with histograms.
std::string format_summary(std::span<const FunctionLatency> functions, const Page& page);

// The running table: its header, and the rows of one interval, which begin with `time`.
std::string format_table_header(const Page& page);
std::string format_table_rows(std::string_view time, std::span<const FunctionLatency> functions,
                              const Page& page);

}  // namespace swipr::tracing
