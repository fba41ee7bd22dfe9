// What `swipr slower` prints: a line for each slow call and its callers, and a summary. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/trace/latency_records.h"
#include "symbolize/base/signature.h"

namespace swipr::tracing {

struct CallerFrame {
  std::string function;
  std::string file;  // empty: unknown
  std::uint32_t line = 0;
  bool inlined = false;  // into the next one
};

struct NamedSlowCall {
  std::string time;  // of its end
  std::string thread;
  std::string function;
  wire::SlowCallRecord record;
  const symbolize::Signature* signature = nullptr;  // nullptr: not known
  std::size_t argument_count = 0;                   // that are shown
  std::vector<CallerFrame> callers;                 // the caller's first
  bool is_whole = false;  // the last of them is the thread's first function
};

// Of a type that is not known: small numbers in decimal, others in hexadecimal.
std::string format_argument(std::uint64_t value);
// The name of a function without the types of its parameters.
std::string_view without_parameters(std::string_view function);
std::string format_slow_header();
// `all_callers`: a line for each of them, otherwise the nearest ones in one line.
std::string format_slow_call(const NamedSlowCall& call, bool all_callers);

struct SlowSummary {
  std::string function;
  std::string threshold;  // as asked for
  const Probe* probe = nullptr;
};
std::string format_slow_summary(std::span<const SlowSummary> functions);

}  // namespace swipr::tracing
