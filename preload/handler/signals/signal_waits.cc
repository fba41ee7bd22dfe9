#include "preload/handler/signals/signal_waits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace swipr::handler {

namespace {

constexpr std::uint32_t kPlaceCount = 1024;
constexpr std::uint32_t kProbes = 8;
constexpr std::uint32_t kNoPlace = kPlaceCount;

constinit std::array<std::atomic<std::int32_t>, kPlaceCount> waiting{};  // tids; 0: free
constinit std::atomic<std::uint32_t> without_place{0};
constinit std::atomic<std::uint32_t> begun{0};

// Kernels number threads one after the other.
std::uint32_t place_of(std::int32_t tid, std::uint32_t probe) noexcept {
  return (static_cast<std::uint32_t>(tid) + probe) % kPlaceCount;
}

// The thread's own entry again if it left an earlier call by cancellation or longjmp.
std::uint32_t take_place(std::int32_t tid) noexcept {
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    const std::uint32_t place = place_of(tid, probe);
    std::int32_t expected = 0;
    if (waiting[place].compare_exchange_strong(expected, tid) || expected == tid) return place;
  }
  return kNoPlace;
}

}  // namespace

SignalWait::SignalWait() noexcept
    : place_(take_place(static_cast<std::int32_t>(::syscall(SYS_gettid)))) {
  if (place_ == kNoPlace) without_place.fetch_add(1);
  begun.fetch_add(1);
}

SignalWait::~SignalWait() {
  if (place_ == kNoPlace) {
    without_place.fetch_sub(1);
  } else {
    waiting[place_].store(0);
  }
}

MaskReading::MaskReading(std::int32_t tid) noexcept
    : tid_(tid), begun_(begun.load()), waits_(is_in_signal_wait(tid)) {}

bool MaskReading::is_valid() const noexcept {
  return !waits_ && begun.load() == begun_ && !is_in_signal_wait(tid_);
}

bool is_in_signal_wait(std::int32_t tid) noexcept {
  if (without_place.load() != 0) return true;
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    if (waiting[place_of(tid, probe)].load() == tid) return true;
  }
  return false;
}

void forget_signal_wait(std::int32_t tid) noexcept {
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    std::int32_t expected = tid;
    waiting[place_of(tid, probe)].compare_exchange_strong(expected, 0);
  }
}

void forget_signal_waits() noexcept {
  without_place.store(0);
  for (std::atomic<std::int32_t>& each : waiting) each.store(0, std::memory_order_relaxed);
}

}  // namespace swipr::handler
