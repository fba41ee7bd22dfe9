#include "preload/agent/record/stream/stack_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ (hash >> 32);
}

}  // namespace

struct StackTable::Key {
  std::span<const std::uint64_t> pcs;
  std::span<const std::uint8_t> kinds;  // of each pc; none: of none
  std::uint64_t flags = 0;
  std::uint32_t omitted_at = 0;
  WaitKey wait{};
  std::uint32_t base = 0;

  std::uint64_t hash() const noexcept {
    std::uint64_t hash = mix(pcs.size(), flags << 32 | wait.syscall);
    hash = mix(hash, std::uint64_t{base} << 32 | wait.channel);
    hash = mix(hash, wait.labels);
    hash = mix(hash, std::uint64_t{wait.runtime.holder_tid} << 8 |
                         static_cast<std::uint64_t>(wait.runtime.kind));
    hash = mix(hash, wait.runtime.type);
    for (std::size_t frame = 0; frame < pcs.size(); ++frame) {
      const std::uint64_t kind = frame < kinds.size() ? kinds[frame] : 0;
      hash = mix(hash, pcs[frame] ^ kind << 56);
    }
    return hash;
  }

  // Whatever lock it waits for, as the hash.
  bool is_of(const StoredStack& stored) const noexcept {
    return stored.frame_count == pcs.size() && stored.flags == flags &&
           stored.wait.equals_but_lock(wait) && stored.base == base &&
           stored.omitted_at == omitted_at &&
           std::memcmp(stored.pcs(), pcs.data(), pcs.size_bytes()) == 0 &&
           std::equal(kinds.begin(), kinds.end(), stored.kinds());
  }
};

bool StackTable::create(std::uint32_t max_stacks) noexcept {
  max_stacks_ = max_stacks < kMaxStacks ? max_stacks : kMaxStacks;
  memory_ = static_cast<std::byte*>(map_memory(kMemoryBytes));
  if (memory_ == nullptr) return false;
  index_ = reinterpret_cast<std::uint32_t*>(memory_);
  by_id_ = reinterpret_cast<std::uint32_t*>(memory_ + kIndexBytes);
  arena_ = memory_ + kIndexBytes + kByIdBytes;
  return true;
}

void StackTable::release() noexcept {
  if (memory_ != nullptr) unmap_memory(memory_, kMemoryBytes);
  memory_ = nullptr;
}

StoredStack& StackTable::at(std::uint32_t unit) noexcept {
  return *reinterpret_cast<StoredStack*>(arena_ + std::size_t{unit} * kUnitBytes);
}

StoredStack& StackTable::stack(std::uint32_t id) noexcept { return at(by_id_[id]); }

std::uint32_t StackTable::intern(const unwind::FrameBuffer& frames, WaitKey wait,
                                 bool& is_new) noexcept {
  return intern({.pcs = std::span(frames.pcs).first(frames.frame_count),
                 .kinds = std::span(frames.kinds).first(frames.frame_count),
                 .flags = frames.flags,
                 .omitted_at = frames.omitted_at,
                 .wait = wait},
                is_new);
}

std::uint32_t StackTable::intern_within(std::uint32_t base, std::span<const std::uint64_t> calls,
                                        bool& is_new) noexcept {
  return intern({.pcs = calls, .kinds = {}, .flags = stack(base).flags, .base = base}, is_new);
}

std::uint32_t StackTable::intern(const Key& key, bool& is_new) noexcept {
  is_new = false;
  const std::uint64_t hash = key.hash();
  std::size_t entry = hash % kIndexEntries;
  std::uint64_t lock = key.wait.lock;
  unsigned other_locks = 0;
  for (; index_[entry] != 0; entry = (entry + 1) % kIndexEntries) {
    const StoredStack& stored = at(index_[entry] - 1);
    if (stored.hash != hash || !key.is_of(stored)) continue;
    if (stored.wait.lock == lock) return stored.id;
    if (++other_locks == kMaxLocks) lock = 0;
  }
  const std::size_t bytes =
      (sizeof(StoredStack) + key.pcs.size_bytes() + key.kinds.size() + kUnitBytes - 1) /
      kUnitBytes * kUnitBytes;
  if (count_ == max_stacks_ || bytes > kArenaBytes - used_bytes_) return 0;
  const auto unit = static_cast<std::uint32_t>(used_bytes_ / kUnitBytes);
  auto* stored = new (arena_ + used_bytes_) StoredStack{
      .hash = hash,
      .id = ++count_,
      .frame_count = static_cast<std::uint32_t>(key.pcs.size()),
      .omitted_at = key.omitted_at,
      .flags = static_cast<std::uint32_t>(key.flags),
      .wait = key.wait,
      .base = key.base,
  };
  stored->wait.lock = lock;
  auto* tail = reinterpret_cast<std::byte*>(stored + 1);
  std::memcpy(tail, key.pcs.data(), key.pcs.size_bytes());
  const auto kinds = std::as_bytes(key.kinds);  // memcpy may not be given those of none
  std::copy(kinds.begin(), kinds.end(), tail + key.pcs.size_bytes());
  used_bytes_ += bytes;
  index_[entry] = unit + 1;
  by_id_[count_] = unit;
  is_new = true;
  return count_;
}

void StackTable::start_generation() noexcept {
  std::memset(index_, 0, kIndexBytes);
  used_bytes_ = 0;
  count_ = 0;
  ++generation_;
}

}  // namespace swipr::agent
