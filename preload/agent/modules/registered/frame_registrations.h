// CFI that the program has registered with its own unwinder (__register_frame and related
// functions). Written by the program's threads, read by the control thread; handlers read the
// number of withdrawals. No locks. Uses memory only in programs that register CFI: 512 KiB, of
// which only pages with entries are touched.
// Context: any thread unless said otherwise.  Errno: kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace swipr::agent::frame_registrations {

inline constexpr std::size_t kCapacity = 65536;

// `passed_on`: the program's unwinder was called, too. Bounds: 64 probes; an entry that finds no
// free place among them is omitted and counted.
void add(const void* table, bool passed_on) noexcept;
// False: when this table was registered there was no unwinder to pass it on to, so none is called
// now. After this returns, walks that begin later do not use the table.
bool remove(const void* table) noexcept;

// Number of both since the process began: data that was built at one number is current while the
// number is unchanged.
std::uint32_t change_count() noexcept;
extern constinit std::atomic<std::uint32_t> removal_count;
std::uint32_t left_out_count() noexcept;

// Control thread. Whether the table is registered now.
bool contains(std::uint64_t table) noexcept;
// Control thread. A word for each place: 0, or an entry that table_at converts to an address.
std::span<const std::atomic<std::uint64_t>> entries() noexcept;
std::uint64_t table_at(const std::atomic<std::uint64_t>& entry) noexcept;

}  // namespace swipr::agent::frame_registrations
