#include "preload/agent/modules/registered/jit_interface.h"

#include <span>

#include "preload/agent/modules/registered/frame_registrations.h"
#include "preload/unwind/image/jit_object.h"

namespace swipr::agent {

namespace {

constexpr std::uint32_t kVersion = 1;

template <typename T>
bool read_value(const ProcMemory& memory, std::uint64_t address, T& out) noexcept {
  return memory.read(address, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
}

}  // namespace

void JitInterface::add_descriptor(std::uint64_t address) noexcept {
  if (watch_count_ < watches_.size()) watches_[watch_count_++] = {.address = address, .seen = {}};
}

// Unreadable memory is treated as absent.
JitInterface::Head JitInterface::read_head(std::uint64_t address,
                                           const ProcMemory& memory) noexcept {
  Head head;
  if (!read_value(memory, address, head.descriptor)) return {};
  const bool has_first = head.descriptor.version == kVersion && head.descriptor.first_entry != 0;
  if (has_first && !read_value(memory, head.descriptor.first_entry, head.first)) head.first = {};
  return head;
}

bool JitInterface::is_outdated(const ProcMemory& memory, Moment now) noexcept {
  if (watch_count_ == 0) return false;
  if (contradicted_.load(std::memory_order_relaxed)) return true;
  for (const Watch& watch : std::span(watches_).first(watch_count_)) {
    if (read_head(watch.address, memory) != watch.seen) return true;
  }
  unchanged_ = now;
  return false;
}

void JitInterface::read(ProcMemory& memory, unwind::RegisteredCfi& cfi) noexcept {
  memory_ = &memory;
  contradicted_.store(false, std::memory_order_relaxed);
  for (JitEntry& entry : entries_) entry.seen = false;
  left_out_ = false;
  listed_.clear();
  Left left;
  for (Watch& watch : std::span(watches_).first(watch_count_)) {
    // Read before its entries, so that a list that changes while it is read is read again.
    watch.seen = read_head(watch.address, memory);
    read_list(watch, left, cfi);
  }
  note_gone();
  unchanged_ = monotonic_now();
}

template <typename OnEntry>
void JitInterface::for_each_entry(const Head& head, OnEntry&& on_entry) const noexcept {
  std::uint64_t at = head.descriptor.first_entry;
  Link link = head.first;
  while (link.object != 0 &&
         on_entry(Listed{.place = at, .object = {link.object, link.object + link.object_bytes}})) {
    const std::uint64_t previous = at;
    at = link.next;
    // An entry with another predecessor belongs to no list, or closes a circle.
    if (at == 0 || !read_value(*memory_, at, link) || link.previous != previous) break;
  }
}

void JitInterface::read_list(const Watch& watch, Left& left, unwind::RegisteredCfi& cfi) noexcept {
  unwind::JitObject object;
  for_each_entry(watch.seen, [&](const Listed& entry) {
    const bool is_object = object.open(entry.object, memory_->image_reader());
    if (left.entries == 0 || object.copied_bytes() > left.bytes) {
      left_out_ = true;
      return false;
    }
    --left.entries;
    left.bytes -= object.copied_bytes();
    if (!is_object) return true;
    note({.place = entry.place, .object = entry.object, .fingerprint = object.fingerprint()});
    const unwind::CfiSource source = object.find_cfi();
    // Without a place in listed_ it could not be confirmed.
    if (!frame_registrations::contains(source.at) && listed_.push_back(entry)) {
      static_cast<void>(cfi.add_unreported(source, memory_->image_reader()));
    }
    return true;
  });
}

// New entries may be among those of the last read, which stay in their order.
bool JitInterface::is_still_listed() noexcept {
  std::size_t found = 0;
  std::size_t left = kMaxEntries;
  for (const Watch& watch : std::span(watches_).first(watch_count_)) {
    for_each_entry(read_head(watch.address, *memory_), [&](const Listed& entry) {
      if (left == 0) return false;
      --left;
      if (found < listed_.size() && listed_[found] == entry) ++found;
      return true;
    });
  }
  const bool is_whole = found == listed_.size();
  if (!is_whole) contradicted_.store(true, std::memory_order_relaxed);
  return is_whole;
}

// New entries are inserted at the head of a list, and objects are numbered in that order: the next
// entry of the list usually has the previous number.
void JitInterface::note(JitEntry met) noexcept {
  const std::size_t count = entries_.size();
  for (std::size_t step = 1; step <= count; ++step) {
    const std::size_t at = (last_found_ + count - step) % count;
    JitEntry& known = entries_[at];
    if (known.gone != Moment{0} || known.place != met.place || known.object != met.object ||
        known.fingerprint != met.fingerprint) {
      continue;
    }
    last_found_ = at;
    known.seen = true;
    return;
  }
  JitEntry* const place = find_free();
  if (place == nullptr) return;
  met.id = ++last_id_;
  met.since = unchanged_;
  met.seen = true;
  *place = met;
  ++change_count_;
}

// nullptr: no memory.
JitEntry* JitInterface::find_free() noexcept {
  if (entries_.size() < kMaxRemembered) {
    return entries_.push_back({}) ? &entries_[entries_.size() - 1] : nullptr;
  }
  JitEntry* oldest = nullptr;
  for (JitEntry& entry : entries_) {
    const bool is_gone = entry.gone != Moment{0};
    if (is_gone && (oldest == nullptr || entry.gone < oldest->gone)) oldest = &entry;
  }
  return oldest;
}

void JitInterface::note_gone() noexcept {
  for (JitEntry& entry : entries_) {
    if (entry.seen || entry.gone != Moment{0}) continue;
    entry.gone = monotonic_now();
    ++change_count_;
  }
}

bool JitInterface::open(const JitEntry& entry, unwind::JitObject& object) const noexcept {
  return object.open(entry.object, memory_->image_reader()) &&
         object.fingerprint() == entry.fingerprint;
}

void JitInterface::release() noexcept {
  watch_count_ = 0;
  entries_.release();
  listed_.release();
  unchanged_ = Moment{0};
}

}  // namespace swipr::agent
