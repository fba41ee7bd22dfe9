#include "preload/runtimes/ruby/ruby_waits.h"

namespace swipr::runtimes {
namespace {

// rb_thread_t: its execution context leads back to it.
bool is_thread(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t thread) noexcept {
  std::uint64_t context = 0;
  std::uint64_t back = 0;
  return thread != 0 && thread % 8 == 0 &&
         reader.read_value(thread + layout.thread_context, context) && context % 8 == 0 &&
         reader.read_value(context + layout.context_thread, back) && back == thread;
}

std::uint64_t read_thread_id(const RubyLayout& layout, ObjectPieces& reader,
                             std::uint64_t thread) noexcept {
  constexpr std::uint64_t kNativeThread = 40;  // rb_thread_t.nt
  std::uint64_t id = 0;
  if (layout.has_native_thread && !reader.read_value(thread + kNativeThread, thread)) return 0;
  return thread != 0 && reader.read_value(thread + layout.thread_id, id) ? id : 0;
}

}  // namespace

// A thread that waits is in the list of the lock. The same links have other uses in some versions;
// the head of the list behind the owner, which is a thread, proves that it is the lock's.
RubyWait read_ruby_wait(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t context,
                        std::uint64_t& known_owner) noexcept {
  std::uint64_t thread = 0;
  if (!reader.read_value(context + layout.context_thread, thread) ||
      !is_thread(layout, reader, thread)) {
    return {};
  }
  const std::uint64_t own = thread + layout.thread_links;
  std::uint64_t links = 0;
  if (!reader.read_value(own, links)) return {};
  for (unsigned step = 0; step < kMaxRubyWaiters && links != own; ++step) {
    const std::uint64_t address = links - layout.owner_before_links;
    std::uint64_t owner = 0;
    if (links == 0 || links % 8 != 0 || !reader.read_value(address, owner)) return {};
    const bool is_owned = owner != thread && is_thread(layout, reader, owner);
    if (is_owned || (owner == 0 && address == known_owner)) {
      known_owner = address;
      return {.waits = true,
              .holder = is_owned ? read_thread_id(layout, reader, owner) : 0,
              .owner_address = address,
              .owner = owner};
    }
    if (!reader.read_value(links, links)) return {};
  }
  return {};
}

}  // namespace swipr::runtimes
