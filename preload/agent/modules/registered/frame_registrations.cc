#include "preload/agent/modules/registered/frame_registrations.h"

#include <sys/mman.h>

#include "common/core/errno_saver.h"

namespace swipr::agent::frame_registrations {

namespace {

using Entry = std::atomic<std::uint64_t>;

// Stored in the upper bits of the address, which user space does not use.
constexpr std::uint64_t kPassedOn = std::uint64_t{1} << 63;
constexpr std::size_t kProbes = 64;
constexpr std::size_t kBytes = kCapacity * sizeof(Entry);

constinit std::atomic<Entry*> places{nullptr};
constinit std::atomic<std::uint32_t> changes{0};
constinit std::atomic<std::uint32_t> left_out{0};

Entry* find_or_make_places() noexcept {
  Entry* present = places.load(std::memory_order_acquire);
  if (present != nullptr) return present;
  const ErrnoSaver errno_saver;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const fresh = static_cast<Entry*>(memory);  // all zero
  if (places.compare_exchange_strong(present, fresh)) return fresh;
  ::munmap(memory, kBytes);
  return present;
}

// Calls try_take(entry) on the entries where this table may be, until it returns true.
template <typename TryTake>
bool probe(Entry* all, std::uint64_t table, TryTake&& try_take) noexcept {
  const std::size_t first = table * 0x9e3779b97f4a7c15u >> 48;  // Fibonacci hashing
  static_assert(kCapacity == std::size_t{1} << 16);
  for (std::size_t at = 0; at < kProbes; ++at) {
    if (try_take(all[(first + at) % kCapacity])) return true;
  }
  return false;
}

}  // namespace

constinit std::atomic<std::uint32_t> removal_count{0};

void add(const void* table, bool passed_on) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(table);
  Entry* const all = find_or_make_places();
  const bool taken =
      all != nullptr && probe(all, address, [=](Entry& entry) {
        std::uint64_t free = 0;
        return entry.compare_exchange_strong(free, address | (passed_on ? kPassedOn : 0));
      });
  if (taken) {
    changes.fetch_add(1, std::memory_order_release);
  } else {
    left_out.fetch_add(1, std::memory_order_relaxed);
  }
}

bool remove(const void* table) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(table);
  Entry* const all = places.load(std::memory_order_acquire);
  bool passed_on = true;
  const bool found =
      all != nullptr && probe(all, address, [&](Entry& entry) {
        std::uint64_t present = entry.load(std::memory_order_relaxed);
        passed_on = (present & kPassedOn) != 0;
        return (present & ~kPassedOn) == address && entry.compare_exchange_strong(present, 0);
      });
  if (!found) return true;
  removal_count.fetch_add(1);
  changes.fetch_add(1, std::memory_order_release);
  return passed_on;
}

bool contains(std::uint64_t table) noexcept {
  Entry* const all = places.load(std::memory_order_acquire);
  return all != nullptr &&
         probe(all, table, [=](const Entry& entry) { return table_at(entry) == table; });
}

std::uint32_t change_count() noexcept { return changes.load(std::memory_order_acquire); }
std::uint32_t left_out_count() noexcept { return left_out.load(std::memory_order_relaxed); }

std::span<const std::atomic<std::uint64_t>> entries() noexcept {
  const Entry* const all = places.load(std::memory_order_acquire);
  return {all, all == nullptr ? 0 : kCapacity};
}

std::uint64_t table_at(const std::atomic<std::uint64_t>& entry) noexcept {
  return entry.load(std::memory_order_acquire) & ~kPassedOn;
}

}  // namespace swipr::agent::frame_registrations
