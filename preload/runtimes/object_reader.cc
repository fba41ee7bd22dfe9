#include "preload/runtimes/object_reader.h"

#include <algorithm>

namespace swipr::runtimes {

bool ObjectPieces::read(std::uint64_t address, std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const std::uint64_t begin = address & -std::uint64_t{kPieceBytes};
    const Piece* const piece = find(begin);
    if (piece == nullptr) return false;
    const std::size_t offset = address - begin;
    const std::size_t count = std::min(out.size(), kPieceBytes - offset);
    std::memcpy(out.data(), piece->bytes.data() + offset, count);
    out = out.subspan(count);
    address += count;
  }
  return true;
}

void ObjectPieces::forget() noexcept {
  for (Piece& piece : pieces_) piece.begin = ~std::uint64_t{0};
}

const ObjectPieces::Piece* ObjectPieces::find(std::uint64_t begin) noexcept {
  for (const Piece& piece : pieces_) {
    if (piece.begin == begin) return &piece;
  }
  Piece& piece = pieces_[next_++ % kPieces];
  piece.begin = ~std::uint64_t{0};
  ++reads_;
  if (!reader_.read(reader_.state, begin, piece.bytes)) return nullptr;
  piece.begin = begin;
  return &piece;
}

}  // namespace swipr::runtimes
