#include "preload/agent/record/stream/stack_table.h"

#include <cstring>
#include <new>

#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_of(const unwind::FrameBuffer& frames, WaitKey wait) noexcept {
  std::uint64_t hash = mix(frames.frame_count, frames.flags << 32 | wait.syscall);
  hash = mix(hash, wait.channel);
  hash = mix(hash, std::uint64_t{wait.runtime.holder_tid} << 8 |
                       static_cast<std::uint64_t>(wait.runtime.kind));
  hash = mix(hash, wait.runtime.type);
  for (std::uint32_t frame = 0; frame < frames.frame_count; ++frame) {
    hash = mix(hash, frames.pcs[frame] ^ std::uint64_t{frames.kinds[frame]} << 56);
  }
  return hash;
}

bool is_same(const StoredStack& stored, std::uint64_t hash, const unwind::FrameBuffer& frames,
             WaitKey wait) noexcept {
  return stored.hash == hash && stored.frame_count == frames.frame_count &&
         stored.flags == frames.flags && stored.wait == wait &&
         stored.omitted_at == frames.omitted_at &&
         std::memcmp(stored.pcs(), frames.pcs.data(), frames.frame_count * sizeof(frames.pcs[0])) ==
             0 &&
         std::memcmp(stored.kinds(), frames.kinds.data(), frames.frame_count) == 0;
}

}  // namespace

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
  is_new = false;
  const std::uint64_t hash = hash_of(frames, wait);
  std::size_t entry = hash % kIndexEntries;
  for (; index_[entry] != 0; entry = (entry + 1) % kIndexEntries) {
    const StoredStack& stored = at(index_[entry] - 1);
    if (is_same(stored, hash, frames, wait)) return stored.id;
  }
  const std::size_t pcs_bytes = frames.frame_count * sizeof(std::uint64_t);
  const std::size_t bytes =
      (sizeof(StoredStack) + pcs_bytes + frames.frame_count + kUnitBytes - 1) / kUnitBytes *
      kUnitBytes;
  if (count_ == max_stacks_ || bytes > kArenaBytes - used_bytes_) return 0;
  const auto unit = static_cast<std::uint32_t>(used_bytes_ / kUnitBytes);
  auto* stored = new (arena_ + used_bytes_) StoredStack{
      .hash = hash,
      .id = ++count_,
      .frame_count = frames.frame_count,
      .omitted_at = frames.omitted_at,
      .flags = static_cast<std::uint32_t>(frames.flags),
      .wait = wait,
  };
  auto* tail = reinterpret_cast<std::byte*>(stored + 1);
  std::memcpy(tail, frames.pcs.data(), pcs_bytes);
  std::memcpy(tail + pcs_bytes, frames.kinds.data(), frames.frame_count);
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
