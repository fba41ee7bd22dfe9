// Splits a .swipr stream into blocks and verifies each block.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/host/result.h"

namespace swipr::session {

class BlockStream {
 public:
  // Receives a payload whose checksum is valid. Lifetime: the span is valid during the call.
  using BlockSink = std::function<host::Result<void>(std::span<const std::byte> payload)>;

  explicit BlockStream(BlockSink sink) : sink_(std::move(sink)) {}

  // Errors: not a .swipr stream, a newer version, a damaged block; the sink's.
  // Bounds: keeps at most one block.
  host::Result<void> feed(std::span<const std::byte> bytes);
  // True if no incomplete block has been received.
  bool at_boundary() const { return pending_.empty(); }

 private:
  // Consumes one header or block from the front. Returns 0 if more bytes are needed.
  host::Result<std::size_t> take_unit(std::span<const std::byte> bytes);
  host::Result<std::size_t> take_file_header(std::span<const std::byte> bytes);

  BlockSink sink_;
  std::vector<std::byte> pending_;
  bool has_header_ = false;
};

}  // namespace swipr::session
