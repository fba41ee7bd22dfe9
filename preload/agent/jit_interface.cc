#include "preload/agent/jit_interface.h"

#include <span>

#include "preload/agent/frame_registrations.h"
#include "preload/unwind/jit_object.h"

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

// What cannot be read is as if it were not there.
JitInterface::Head JitInterface::read_head(std::uint64_t address,
                                           const ProcMemory& memory) noexcept {
  Head head;
  if (!read_value(memory, address, head.descriptor)) return {};
  const bool has_first = head.descriptor.version == kVersion && head.descriptor.first_entry != 0;
  if (has_first && !read_value(memory, head.descriptor.first_entry, head.first)) head.first = {};
  return head;
}

bool JitInterface::is_outdated(const ProcMemory& memory) const noexcept {
  if (watch_count_ == 0) return false;
  if (contradicted_.load(std::memory_order_relaxed)) return true;
  for (const Watch& watch : std::span(watches_).first(watch_count_)) {
    if (read_head(watch.address, memory) != watch.seen) return true;
  }
  return false;
}

void JitInterface::read(ProcMemory& memory, unwind::RegisteredCfi& cfi) noexcept {
  contradicted_.store(false, std::memory_order_relaxed);
  std::size_t entries_left = kMaxEntries;
  unwind::JitObject object;
  for (Watch& watch : std::span(watches_).first(watch_count_)) {
    // Before its entries: a list that changes while it is read is read again.
    watch.seen = read_head(watch.address, memory);
    std::uint64_t previous = 0;
    Entry entry = watch.seen.first;
    for (std::uint64_t at = watch.seen.descriptor.first_entry;
         entry.object != 0 && entries_left != 0; --entries_left) {
      if (entry.object_bytes <= UINT64_MAX - entry.object &&
          object.open({entry.object, entry.object + entry.object_bytes}, memory.image_reader())) {
        const unwind::CfiSource source = object.find_cfi();
        if (!frame_registrations::contains(source.at)) {
          static_cast<void>(cfi.add_unreported(source, memory.image_reader()));
        }
      }
      previous = at;
      at = entry.next;
      // An entry that names another one before it is of no list, or closes a circle.
      if (at == 0 || !read_value(memory, at, entry) || entry.previous != previous) break;
    }
  }
}

}  // namespace swipr::agent
