// Code that the handler returns to if swipr's signal made a transfer short. It transfers the rest,
// with the program's own stack and signal mask, and then returns to the code after the call with
// the total. An error, the end of the stream, or a short transfer that swipr did not cause ends it
// with the sum so far, as in the kernel.
//
// Which registers it takes and leaves: continued_transfer_x86_64.cc, continued_transfer_aarch64.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "preload/handler/calls/system_call.h"

extern "C" {
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy;
// Addresses after their system calls, where a register is marked.
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy_returned;
}

namespace swipr::handler {

// One for each pair of arguments that move on: read, write and similar calls; getrandom; sendfile,
// whose offset the kernel updates itself; copy_file_range.
struct Continuation {
  Rest rest;
  const char* entry;
  const char* returned;
};
inline constexpr Continuation kContinuations[] = {
    {{1, 2}, &swipr_continued_transfer, &swipr_continued_transfer_returned},
    {{0, 1}, &swipr_continued_fill, &swipr_continued_fill_returned},
    {{-1, 3}, &swipr_continued_sendfile, &swipr_continued_sendfile_returned},
    {{-1, 4}, &swipr_continued_copy, &swipr_continued_copy_returned},
};

// nullptr: none begins there.
inline const Continuation* continuation_at(std::uint64_t address) noexcept {
  for (const Continuation& each : kContinuations) {
    if (address == reinterpret_cast<std::uint64_t>(each.entry)) return &each;
  }
  return nullptr;
}

inline bool is_behind_continued_call(std::uint64_t address) noexcept {
  return std::any_of(std::begin(kContinuations), std::end(kContinuations), [&](const auto& each) {
    return address == reinterpret_cast<std::uint64_t>(each.returned);
  });
}

}  // namespace swipr::handler
