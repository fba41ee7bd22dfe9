// Gathers records into blocks and hands them to a recording's output. A record is written whole or
// not at all; a block that the output refuses stays and is offered again.
// Context: control thread.
#pragma once

#include <cstddef>
#include <span>

#include "common/wire/encoder.h"
#include "preload/agent/base/output_queue.h"

namespace swipr::agent {

class BlockWriter {
 public:
  static constexpr std::size_t kMaxBlockBytes = std::size_t{256} << 10;
  // From here on a block is worth sending; smaller ones wait for company (at most 50 ms).
  static constexpr std::size_t kWorthSendingBytes = std::size_t{32} << 10;

  // `output` outlives the writer. False: no memory.
  [[nodiscard]] bool create(OutputQueue& output) noexcept;
  void release() noexcept;

  // Calls `encode(wire::Encoder&)`, which appends whole records. Without room for them the block is
  // sent first and `encode` called again. False: no room either way, nothing of it is written.
  template <typename Encode>
  bool put(Encode&& encode) noexcept {
    const std::size_t mark = payload_.size();
    encode(payload_);
    if (!payload_.overflowed()) return true;
    payload_.roll_back(mark);
    if (mark == 0 || !flush()) return false;
    encode(payload_);
    if (!payload_.overflowed()) return true;
    payload_.roll_back(0);
    return false;
  }
  // False: the output has no room now.
  bool flush() noexcept;
  std::size_t pending_bytes() const noexcept { return payload_.size(); }

 private:
  OutputQueue* output_ = nullptr;
  std::byte* memory_ = nullptr;  // block header and payload, so that one append takes both
  wire::Encoder payload_{{}};
};

}  // namespace swipr::agent
