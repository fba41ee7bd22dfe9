// The lock of Ruby's virtual machine (GVL; one for each Ractor): whether a thread waits for it, and
// which thread holds it. Everything that is read may be garbage: other threads run meanwhile.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_layout.h"

namespace swipr::runtimes {

struct RubyWait {
  bool waits = false;
  std::uint64_t holder = 0;  // its pthread_t; 0: unknown
  // Where the lock has its owner, and what is there: a change means another holder.
  std::uint64_t owner_address = 0;
  std::uint64_t owner = 0;
};

// Of a thread that sleeps in a futex, with that execution context. `known_owner`: the caller's hint
// of where a lock has its owner; updated.
// Bounds: kMaxRubyWaiters threads that wait for one lock.
inline constexpr unsigned kMaxRubyWaiters = 256;
RubyWait read_ruby_wait(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t context,
                        std::uint64_t& known_owner) noexcept;

}  // namespace swipr::runtimes
