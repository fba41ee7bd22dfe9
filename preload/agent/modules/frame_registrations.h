// CFI that the program has registered with its own unwinder (__register_frame and its kin). Written
// by the program's threads, read by the control thread and, what was withdrawn, by handlers; no
// locks. Memory only in programs that register something: 512 KiB, touched where entries are.
// Context: any thread unless said otherwise.  Errno: kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace swipr::agent::frame_registrations {

inline constexpr std::size_t kCapacity = 65536;

// `passed_on`: the program's unwinder was told, too. Bounds: 64 probes; an entry that finds no
// place among them is left out, and counted.
void add(const void* table, bool passed_on) noexcept;
// False: this table was registered when there was nobody to pass it on to, so nobody is to be told
// that it goes. When this returns no walk that begins later believes the table.
bool remove(const void* table) noexcept;

// Of both, since the process began: what is built from one number is current while it stays.
std::uint32_t change_count() noexcept;
extern constinit std::atomic<std::uint32_t> removal_count;
std::uint32_t left_out_count() noexcept;

// Control thread. Whether the table is registered now.
bool contains(std::uint64_t table) noexcept;
// Control thread. A word for each place: 0, or an entry that table_at makes an address of.
std::span<const std::atomic<std::uint64_t>> entries() noexcept;
std::uint64_t table_at(const std::atomic<std::uint64_t>& entry) noexcept;

}  // namespace swipr::agent::frame_registrations
