#include "preload/agent/record/stream/block_writer.h"

#include <algorithm>

#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

bool BlockWriter::create(OutputQueue& output) noexcept {
  memory_ = static_cast<std::byte*>(map_memory(kMaxBlockBytes));
  if (memory_ == nullptr) return false;
  output_ = &output;
  // A block larger than the output could never be sent; at the end there must be room for two.
  const std::size_t bytes = std::min(kMaxBlockBytes, (output.size() + output.free_bytes()) / 2);
  payload_ =
      wire::Encoder(std::span(memory_ + wire::kBlockHeaderBytes, bytes - wire::kBlockHeaderBytes));
  return true;
}

void BlockWriter::release() noexcept {
  if (memory_ != nullptr) unmap_memory(memory_, kMaxBlockBytes);
  memory_ = nullptr;
}

bool BlockWriter::flush() noexcept {
  const std::size_t bytes = payload_.size() + wire::kBlockHeaderBytes;
  if (payload_.size() == 0) return true;
  if (output_->free_bytes() < bytes) return false;
  wire::Encoder header(std::span(memory_, wire::kBlockHeaderBytes));
  wire::encode_block_header(header, 0, payload_.bytes());
  if (!output_->try_append(std::span<const std::byte>(memory_, bytes))) return false;
  payload_.roll_back(0);
  return true;
}

}  // namespace swipr::agent
