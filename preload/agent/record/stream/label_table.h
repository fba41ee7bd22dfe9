// The distinct sets of labels of one recording, each with an id from 1. Memory is bounded: when it
// is full the recording starts a new generation of stacks and sets.
// Context: control thread.  Allocates: none before the first set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/agent/base/mapped_memory.h"
#include "preload/labels/label.h"

namespace swipr::wire {
class Encoder;
}

namespace swipr::agent {

class LabelTable {
 public:
  static constexpr std::uint32_t kMostSets = 8192;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  // The set's id; 0 without labels. `set` may be null. False: no room.
  [[nodiscard]] bool intern(const labels::LabelSet* set, std::uint32_t& id) noexcept;
  void start_generation() noexcept;
  void release() noexcept;

  // --- the stream. Id 0 does nothing.
  // Behind the definition of a stack: tells its labels, and defines them if neither the stream nor
  // these bytes do. Afterwards call settle for each.
  void define(wire::Encoder& out, std::uint32_t stack, std::uint32_t id) noexcept;
  void settle(std::uint32_t id, bool written) noexcept;
  // Bound of the bytes that `define` writes.
  std::size_t definition_bytes(std::uint32_t id) const noexcept;

 private:
  struct Stored {
    std::uint64_t hash;
    std::uint32_t begin;  // in bytes_
    std::uint16_t size;
    bool defined;   // a record in the stream defines it
    bool defining;  // … in the bytes that are being written
  };
  bool store(const char* bytes, std::size_t size, std::uint64_t hash) noexcept;

  MappedArray<Stored> sets_;
  MappedArray<char> bytes_;           // of each label: two sizes, key, value
  MappedArray<std::uint32_t> index_;  // ids by hash; 0: free
};

}  // namespace swipr::agent
