#include "preload/labels/thread_labels.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/core/errno_saver.h"

namespace swipr::labels {

namespace {

// Four more than labels: one is written while all others are in use, and handlers that interrupt
// that may write another.
constexpr std::uint32_t kSlots = kMostLabels + 4;
constexpr std::uint32_t kAllSlots = (1u << kSlots) - 1;

struct ThreadLabels {
  std::atomic<std::uint32_t> live;      // a bit for each slot that holds a label
  std::atomic<std::uint32_t> claimed;   // … that is being written
  std::atomic<std::uint32_t> versions;  // of `live`
  std::uint64_t pointer;                // where the thread's `this_thread` is
  std::uint64_t thread_pointer;
  Label slots[kSlots];
};

struct Table {
  std::atomic<std::int32_t> tids[kMostThreads];  // 0: free
  std::atomic<std::uint32_t> used;               // places that some thread has had
  std::atomic<std::uint32_t> next_look;
  ThreadLabels threads[kMostThreads];
};

struct Process {
  std::atomic<std::int32_t> owner;
  std::int32_t last_owner;  // that was not 0
  std::atomic<Table*> table;
  std::atomic<std::uint64_t> lost;
  std::atomic<std::uint64_t> cut;
};
constinit Process process{};

// Stands for a thread that gets no place, and for one that is getting it.
constinit ThreadLabels no_place{};
// initial-exec: no function of libc is called to find it.
constinit thread_local ThreadLabels* this_thread = nullptr;

// Handlers of the same thread see stores in this order.
void order() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

void count_lost() noexcept { process.lost.fetch_add(1, std::memory_order_relaxed); }

Table* make_table() noexcept {
  void* const memory = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Table* expected = nullptr;
  if (process.table.compare_exchange_strong(expected, static_cast<Table*>(memory)))
    return static_cast<Table*>(memory);
  ::munmap(memory, sizeof(Table));
  return expected;
}

bool has_ended(std::int32_t pid, std::int32_t tid) noexcept {
  return ::syscall(SYS_tgkill, pid, tid, 0) != 0 && errno == ESRCH;
}

// kMostThreads: all places are taken.
std::uint32_t take_number(Table& table, std::int32_t pid, std::int32_t tid) noexcept {
  // With so many looks an eighth of the places at most stay with threads that have ended.
  constexpr std::uint32_t kLooks = 8;
  std::uint32_t used = table.used.load();
  for (std::uint32_t look = 0; look < std::min(kLooks, used); ++look) {
    const std::uint32_t number = table.next_look.fetch_add(1) % used;
    std::int32_t owner = table.tids[number].load();
    const bool is_free = owner == 0 || owner == tid || has_ended(pid, owner);
    if (is_free && table.tids[number].compare_exchange_strong(owner, tid)) return number;
  }
  while (used < kMostThreads) {
    if (!table.used.compare_exchange_weak(used, used + 1)) continue;
    std::int32_t owner = 0;  // another thread may have found the place to be free already
    if (table.tids[used].compare_exchange_strong(owner, tid)) return used;
    used = table.used.load();
  }
  return kMostThreads;
}

// In the child of a vfork, which runs in the memory of its parent's thread, nothing is taken: the
// parent continues with this thread's variables.
[[gnu::noinline]] ThreadLabels* take_place() noexcept {
  const ErrnoSaver errno_saver;
  const std::int32_t owner = process.owner.load();
  if (owner == 0 || ::getpid() != owner) return &no_place;
  this_thread = &no_place;  // for handlers, meanwhile
  order();
  Table* table = process.table.load();
  if (table == nullptr) table = make_table();
  if (table == nullptr) return &no_place;
  const std::uint32_t number =
      take_number(*table, owner, static_cast<std::int32_t>(::syscall(SYS_gettid)));
  if (number == kMostThreads) return &no_place;
  ThreadLabels& place = table->threads[number];
  place.live.store(0);
  place.claimed.store(0);
  place.pointer = reinterpret_cast<std::uint64_t>(&this_thread);
  place.thread_pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  order();
  this_thread = &place;
  return &place;
}

ThreadLabels* place_of_this_thread() noexcept {
  ThreadLabels* const place = this_thread;
  return place != nullptr ? place : take_place();
}

// Its bit; 0: no label has this key.
std::uint32_t find(const ThreadLabels& thread, std::uint32_t live, std::string_view key) noexcept {
  for (std::uint32_t rest = live; rest != 0; rest &= rest - 1) {
    const Label& label = thread.slots[__builtin_ctz(rest)];
    if (label.key() == key) return rest & (~rest + 1);
  }
  return 0;
}

// The labels of a thread at one moment, and which of them has a key.
struct Found {
  std::uint32_t live;
  std::uint32_t bit;  // 0: none
};
Found look(const ThreadLabels& thread, std::string_view key) noexcept {
  const std::uint32_t live = thread.live.load(std::memory_order_relaxed);
  return {live, find(thread, live, key)};
}

// Replaces the label of this key by that in the slot `bit`; 0: by none. A handler may have changed
// labels since `found`.
void publish(ThreadLabels& thread, std::string_view key, Found found, std::uint32_t bit) noexcept {
  order();
  while (!thread.live.compare_exchange_strong(found.live, (found.live & ~found.bit) | bit,
                                              std::memory_order_release,
                                              std::memory_order_relaxed)) {
    found.bit = find(thread, found.live, key);
  }
  thread.versions.store(thread.versions.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
}

// A slot that no handler takes; 0: there is none. Claims of handlers are over when they return.
std::uint32_t claim_slot(ThreadLabels& thread, std::uint32_t claimed) noexcept {
  for (std::uint32_t attempt = 0; attempt < kSlots; ++attempt) {
    const std::uint32_t free = kAllSlots & ~claimed & ~thread.live.load(std::memory_order_relaxed);
    if (free == 0) return 0;
    const std::uint32_t bit = free & (~free + 1);
    thread.claimed.store(claimed | bit, std::memory_order_relaxed);
    order();
    if ((thread.live.load(std::memory_order_relaxed) & bit) == 0) return bit;
  }
  thread.claimed.store(claimed, std::memory_order_relaxed);
  return 0;
}

// Without the part of a character of UTF-8 at its end.
std::string_view cut(std::string_view value, std::size_t room) noexcept {
  if (value.size() <= room) return value;
  process.cut.fetch_add(1, std::memory_order_relaxed);
  const auto continues = [value](std::size_t at) { return (value[at] & 0xc0) == 0x80; };
  while (room != 0 && continues(room)) --room;
  return {value.data(), room};
}

// Without an instruction for it the compiler calls libgcc, which is not linked.
constexpr std::uint32_t count_bits(std::uint32_t bits) noexcept {
  std::uint32_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

bool write_label(ThreadLabels& thread, std::string_view key, std::string_view value) noexcept {
  const Found found = look(thread, key);
  const bool is_full = found.bit == 0 && count_bits(found.live) >= kMostLabels;
  const std::uint32_t claimed = thread.claimed.load(std::memory_order_relaxed);
  const std::uint32_t bit = is_full ? 0 : claim_slot(thread, claimed);
  if (bit == 0) return false;
  Label& label = thread.slots[__builtin_ctz(bit)];
  label.key_bytes = static_cast<std::uint8_t>(key.size());
  label.value_bytes = static_cast<std::uint8_t>(value.size());
  std::memcpy(label.text, key.data(), key.size());
  std::memcpy(label.text + key.size(), value.data(), value.size());
  publish(thread, key, found, bit);
  thread.claimed.store(claimed, std::memory_order_relaxed);
  return true;
}

void copy_from(const ThreadLabels& thread, LabelSet& out) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t rest = thread.live.load(std::memory_order_acquire) & kAllSlots;
       rest != 0 && count != kMostLabels; rest &= rest - 1) {
    Label& label = out.labels[count];
    label = thread.slots[__builtin_ctz(rest)];
    // A thread that does not sleep any more may be writing: the result is not used, but is valid.
    if (std::size_t{label.key_bytes} + label.value_bytes <= kMostTextBytes) ++count;
  }
  out.count = count;
}

}  // namespace

bool set_label(std::string_view key, std::string_view value) noexcept {
  ThreadLabels& thread = *place_of_this_thread();
  const bool is_possible = &thread != &no_place && !key.empty() && key.size() <= kMostKeyBytes;
  if (is_possible && value.empty()) {
    publish(thread, key, look(thread, key), 0);
    return true;
  }
  if (is_possible && write_label(thread, key, cut(value, kMostTextBytes - key.size()))) return true;
  count_lost();
  return false;
}

bool begin_scope(Label& scope, std::string_view key, std::string_view value) noexcept {
  ThreadLabels& thread = *place_of_this_thread();
  scope.key_bytes = 0;
  if (&thread == &no_place || key.empty() || key.size() > kMostKeyBytes) {
    count_lost();
    return false;
  }
  // A handler may set labels, too: then the copy is made again.
  std::uint32_t version = 0;
  do {
    version = thread.versions.load(std::memory_order_relaxed);
    order();
    const std::uint32_t bit = find(thread, thread.live.load(std::memory_order_relaxed), key);
    if (bit != 0) scope = thread.slots[__builtin_ctz(bit)];
    if (bit == 0) scope.key_bytes = scope.value_bytes = 0;
    order();
  } while (thread.versions.load(std::memory_order_relaxed) != version);
  if (scope.key_bytes == 0) {
    std::memcpy(scope.text, key.data(), key.size());
    scope.key_bytes = static_cast<std::uint8_t>(key.size());
  }
  if (set_label(key, value)) return true;
  scope.key_bytes = 0;
  return false;
}

void end_scope(const Label& scope) noexcept {
  if (scope.key_bytes != 0) set_label(scope.key(), scope.value());
}

void copy_own_labels(LabelSet& out) noexcept {
  const ThreadLabels* const thread = this_thread;
  out.count = 0;
  if (thread != nullptr) copy_from(*thread, out);
}

bool are_in_use() noexcept { return process.table.load(std::memory_order_acquire) != nullptr; }

LabelPlace find_place(Tid tid, std::uint32_t hint) noexcept {
  const Table* const table = process.table.load(std::memory_order_acquire);
  if (table == nullptr) return {};
  const auto is_at = [table, tid](std::uint32_t number) {
    return table->tids[number].load(std::memory_order_relaxed) == tid.value;
  };
  const std::uint32_t used = std::min(table->used.load(std::memory_order_acquire), kMostThreads);
  std::uint32_t number = hint;
  if (hint >= used || !is_at(hint)) {
    for (number = 0; number != used && !is_at(number);) ++number;
  }
  if (number >= used) return {};
  const ThreadLabels& place = table->threads[number];
  return {number, place.pointer, reinterpret_cast<std::uint64_t>(&place), place.thread_pointer};
}

void copy_labels(std::uint32_t number, LabelSet& out) noexcept {
  copy_from(process.table.load(std::memory_order_acquire)->threads[number], out);
}

std::uint64_t lost_count() noexcept { return process.lost.load(std::memory_order_relaxed); }
std::uint64_t cut_count() noexcept { return process.cut.load(std::memory_order_relaxed); }

void set_owner(std::int32_t owner) noexcept {
  process.owner.store(owner);
  const bool is_child = process.last_owner != 0 && owner != 0 && owner != process.last_owner;
  if (owner != 0) process.last_owner = owner;
  Table* const table = process.table.load();
  if (!is_child || table == nullptr) return;
  const std::uint32_t used = std::min(table->used.load(), kMostThreads);
  for (std::uint32_t number = 0; number < used; ++number) {
    const bool is_own = &table->threads[number] == this_thread;
    table->tids[number].store(is_own ? static_cast<std::int32_t>(::syscall(SYS_gettid)) : 0);
  }
}

}  // namespace swipr::labels
