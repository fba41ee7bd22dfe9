// Waits for a word to change, and wakes waiting threads. Async-signal-safe; errno unspecified.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace swipr::agent {

// Returns when woken, if the word is not `expected`, after `timeout`, or spuriously.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds timeout) noexcept;
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;
// Until the word is no longer `expected`, at most `timeout`.
void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::chrono::nanoseconds timeout) noexcept;

}  // namespace swipr::agent
