#include "preload/agent/base/clock.h"

#include <sys/auxv.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>
#include <span>

#include "preload/machine/raw_syscall.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/elf_image.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kKernelSignalSetBytes = 8;

using ClockFunction = int (*)(clockid_t clock, timespec* time);  // 0 or -errno
constinit std::atomic<ClockFunction> vdso_clock{nullptr};

long address_of(const void* place) noexcept { return reinterpret_cast<long>(place); }

// The vDSO is trusted, and mapped unless the program unmaps it.
bool read_own_memory(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
  std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
  return true;
}

}  // namespace

void find_vdso_clock() noexcept {
  const std::uint64_t header = ::getauxval(AT_SYSINFO_EHDR);
  if (header == 0) return;
  const unwind::ImageReader reader{read_own_memory, nullptr};
  unwind::ElfImage image;
  static_cast<void>(unwind::read_elf_image(header, reader, image));
  const Range<std::uint64_t> dynamic{image.load_bias + image.dynamic.begin,
                                     image.load_bias + image.dynamic.end};
  const std::uint64_t found =
      unwind::find_exported(dynamic, image.load_bias, unwind::kVdsoClock, reader);
  vdso_clock.store(reinterpret_cast<ClockFunction>(found), std::memory_order_relaxed);
}

std::optional<std::chrono::nanoseconds> read_clock(clockid_t clock) noexcept {
  timespec time{};
  const ClockFunction function = vdso_clock.load(std::memory_order_relaxed);
  const long result = function != nullptr
                          ? function(clock, &time)
                          : machine::raw_syscall(SYS_clock_gettime, clock, address_of(&time));
  if (result != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

timespec to_timespec(std::chrono::nanoseconds time) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {seconds.count(), (time - seconds).count()};
}

void sleep_for(std::chrono::nanoseconds time) noexcept {
  const timespec wanted = to_timespec(time);
  machine::raw_syscall(SYS_nanosleep, address_of(&wanted));
}

// The kernel overwrites the timeout with the time that is left.
long poll_descriptors(pollfd* polls, std::size_t count, const timespec* timeout) noexcept {
  timespec left = timeout == nullptr ? timespec{} : *timeout;
  return machine::raw_syscall(SYS_ppoll, address_of(polls), static_cast<long>(count),
                              timeout == nullptr ? 0 : address_of(&left), 0, kKernelSignalSetBytes);
}

long select_descriptors(int end, void* readable, void* writable, const timespec* timeout) noexcept {
  timespec left = timeout == nullptr ? timespec{} : *timeout;
  return machine::raw_syscall(SYS_pselect6, end, address_of(readable), address_of(writable), 0,
                              timeout == nullptr ? 0 : address_of(&left));
}

}  // namespace swipr::agent
