// Collects records in blocks and passes these to a recording's output. A record is written whole or
// not at all; a block that the output refuses is kept and offered again.
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
  // Blocks of this size are sent at once; smaller ones are held back for at most 50 ms.
  static constexpr std::size_t kWorthSendingBytes = std::size_t{32} << 10;

  // `output` outlives the writer. False: no memory.
  [[nodiscard]] bool create(OutputQueue& output) noexcept;
  void release() noexcept;

  // Calls `encode(wire::Encoder&)`, which appends whole records. If there is no room for them, the
  // block is sent first and `encode` is called again. False: still no room; nothing is written.
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
  // Of what one `put` can write.
  std::size_t max_bytes() const noexcept { return payload_.capacity(); }

 private:
  OutputQueue* output_ = nullptr;
  std::byte* memory_ = nullptr;  // block header and payload, for a single append
  wire::Encoder payload_{{}};
};

}  // namespace swipr::agent
