#include "preload/agent/libunwind/differences.h"

#include <algorithm>

#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent::libunwind {

namespace {

std::span<const std::uint64_t> pcs_of(const unwind::FrameBuffer& frames) noexcept {
  return std::span(frames.pcs).first(frames.frame_count);
}

std::uint64_t hash_of(const unwind::FrameBuffer& frames, std::uint64_t hash) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  for (const std::uint64_t pc : pcs_of(frames)) hash = (hash ^ pc ^ hash >> 29) * kMultiplier;
  return hash ^ frames.frame_count;
}

}  // namespace

bool same_frames(const unwind::FrameBuffer& left, const unwind::FrameBuffer& right) noexcept {
  const bool cut = ((left.flags | right.flags) & wire::kStackCut) != 0;
  const std::uint32_t most = cut ? unwind::kKeptInner : wire::kMaxFrames;
  const auto ours = pcs_of(left).first(std::min(left.frame_count, most));
  const auto theirs = pcs_of(right).first(std::min(right.frame_count, most));
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end());
}

bool Differences::open() noexcept {
  if (memory_ == nullptr) memory_ = static_cast<std::byte*>(map_memory(kMemoryBytes));
  return memory_ != nullptr;
}

void Differences::clear() noexcept {
  used_bytes_ = 0;
  entry_count_ = 0;
  compared_ = equal_ = left_out_ = 0;
}

void Differences::note(const unwind::FrameBuffer& own, const unwind::FrameBuffer& other) noexcept {
  ++compared_;
  if (same_frames(own, other)) {
    ++equal_;
    return;
  }
  const std::uint64_t hash = hash_of(other, hash_of(own, 0));
  if (Entry* const known = find(hash, own, other)) {
    ++known->count;
  } else {
    add(hash, own, other);
  }
}

Differences::Entry* Differences::find(std::uint64_t hash, const unwind::FrameBuffer& own,
                                      const unwind::FrameBuffer& other) noexcept {
  const auto is_of = [](const FoundStack& stack, const unwind::FrameBuffer& frames) {
    const auto pcs = pcs_of(frames);
    return std::equal(stack.pcs.begin(), stack.pcs.end(), pcs.begin(), pcs.end());
  };
  for (std::size_t at = 0; at < used_bytes_; at += entry_at(at).bytes) {
    Entry& entry = entry_at(at);
    if (entry.hash == hash && is_of(stack_of(entry, 0), own) && is_of(stack_of(entry, 1), other))
      return &entry;
  }
  return nullptr;
}

void Differences::add(std::uint64_t hash, const unwind::FrameBuffer& own,
                      const unwind::FrameBuffer& other) noexcept {
  constexpr std::size_t kFrameBytes = sizeof(std::uint64_t) + 1;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t frames = std::size_t{own.frame_count} + other.frame_count;
  const std::size_t bytes = (sizeof(Entry) + frames * kFrameBytes + kWord - 1) / kWord * kWord;
  if (memory_ == nullptr || entry_count_ == kMaxEntries || bytes > kMemoryBytes - used_bytes_) {
    ++left_out_;
    return;
  }
  Entry& entry = entry_at(used_bytes_);
  entry = {
      .hash = hash,
      .count = 1,
      .bytes = static_cast<std::uint32_t>(bytes),
      .frame_count = {own.frame_count, other.frame_count},
      .omitted_at = {own.omitted_at, other.omitted_at},
      .flags = {static_cast<std::uint32_t>(own.flags), static_cast<std::uint32_t>(other.flags)},
      .padding = 0};
  auto* pcs = reinterpret_cast<std::uint64_t*>(&entry + 1);
  pcs = std::copy_n(own.pcs.begin(), own.frame_count, pcs);
  pcs = std::copy_n(other.pcs.begin(), other.frame_count, pcs);
  auto* kinds = reinterpret_cast<std::uint8_t*>(pcs);
  kinds = std::copy_n(own.kinds.begin(), own.frame_count, kinds);
  std::copy_n(other.kinds.begin(), other.frame_count, kinds);
  used_bytes_ += bytes;
  ++entry_count_;
}

FoundStack Differences::stack_of(const Entry& entry, unsigned which) noexcept {
  const std::size_t total = std::size_t{entry.frame_count[0]} + entry.frame_count[1];
  const std::size_t first = which == 0 ? 0 : entry.frame_count[0];
  const auto* const pcs = reinterpret_cast<const std::uint64_t*>(&entry + 1);
  const auto* const kinds = reinterpret_cast<const std::uint8_t*>(pcs + total);
  return {.pcs = {pcs + first, entry.frame_count[which]},
          .kinds = {kinds + first, entry.frame_count[which]},
          .omitted_at = entry.omitted_at[which],
          .flags = entry.flags[which]};
}

}  // namespace swipr::agent::libunwind
