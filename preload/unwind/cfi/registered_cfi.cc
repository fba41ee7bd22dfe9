#include "preload/unwind/cfi/registered_cfi.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "preload/unwind/cfi/cfi_compiler.h"

namespace swipr::unwind {
namespace {

constexpr std::size_t kMaxTableBytes = 16 << 20;
constexpr std::size_t kMaxAllBytes = 256 << 20;
constexpr std::size_t kPageBytes = 4096;  // blocks are readable as a whole or not at all
constexpr std::size_t kLengthBytes = 4;

// Moves `next` from entry to entry up to the end of `bytes`. True: it is at the terminator.
bool find_terminator(std::span<const std::byte> bytes, std::size_t& next) noexcept {
  while (next + kLengthBytes <= bytes.size()) {
    if (ByteCursor(bytes.subspan(next)).fixed<std::uint32_t>() == 0) return true;
    const std::uint64_t entry = CfiSection::entry_bytes(bytes, next);
    if (entry == 0) return false;  // a long length, truncated
    next = entry > kMaxTableBytes ? kMaxTableBytes : next + static_cast<std::size_t>(entry);
  }
  return false;
}

}  // namespace

bool RegisteredCfi::add(std::uint64_t address, ImageReader reader) noexcept {
  const std::size_t begin = bytes_.size();
  std::size_t next = 0;
  while (!find_terminator(bytes_.span().subspan(begin), next)) {
    const std::size_t done = bytes_.size() - begin;
    const std::size_t piece = kPageBytes - (address + done) % kPageBytes;
    const bool has_room = next < kMaxTableBytes && done < kMaxTableBytes &&
                          bytes_.size() < kMaxAllBytes && bytes_.resize(begin + done + piece);
    if (!has_room ||
        !reader.read(reader.state, address + done, bytes_.span().subspan(begin + done))) {
      bytes_.truncate(begin);
      return false;
    }
  }
  bytes_.truncate(begin + next);
  if (next == 0) return true;
  if (parts_.push_back({{.at = address, .bytes = next, .address = address}, begin})) return true;
  bytes_.truncate(begin);
  return false;
}

bool RegisteredCfi::add_unreported(const CfiSource& source, ImageReader reader) noexcept {
  if (source.bytes == 0) return true;
  const std::size_t begin = bytes_.size();
  const bool ok = source.bytes <= kMaxTableBytes && begin + source.bytes <= kMaxAllBytes &&
                  bytes_.resize(begin + source.bytes) &&
                  reader.read(reader.state, source.at, bytes_.span().subspan(begin)) &&
                  parts_.push_back({.source = source, .begin = begin, .is_reported = false});
  if (!ok) bytes_.truncate(begin);
  return ok;
}

CfiSection RegisteredCfi::section(std::size_t part) const noexcept {
  const CfiSource& source = parts_[part].source;
  return {bytes_.span().subspan(parts_[part].begin, source.bytes), source.address, 0,
          source.format};
}

BuildStatus RegisteredCfi::build(Range<std::uint64_t> text,
                                 const UnwindTable*& table) const noexcept {
  GrowableArray<PlacedSection> sections;
  if (!sections.reserve(parts_.size())) return BuildStatus::kNoMemory;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    sections.push_back_reserved({section(part), parts_[part].begin});
  }
  return compile_cfi(sections.span(), text, table);
}

bool RegisteredCfi::build_checksums(ImageReader reader, GrowableArray<CodeChecksum>& out) noexcept {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!parts_[part].is_reported && !add_checksums(part, reader, out)) return false;
  }
  return true;
}

void RegisteredCfi::confirm_checksums(bool is_same_list, ImageReader reader,
                                      std::span<CodeChecksum> checksums) const noexcept {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const Range<std::size_t> own = parts_[part].checksums;
    if (own.empty() || (is_same_list && is_unchanged(part, reader))) continue;
    for (CodeChecksum& each : checksums.subspan(own.begin, own.end - own.begin)) {
      each.hash = ~each.hash;
    }
  }
  // A third of std::sort's code.
  const auto is_before = [](const CodeChecksum& a, const CodeChecksum& b) {
    return a.begin < b.begin;
  };
  std::make_heap(checksums.begin(), checksums.end(), is_before);
  std::sort_heap(checksums.begin(), checksums.end(), is_before);
}

namespace {

std::uint32_t read_hash(const CodeChecksum& checksum, ImageReader reader) noexcept {
  std::array<std::byte, kMaxChecksumBytes + 2 * sizeof(std::uint64_t)> code;
  const Range<std::uint64_t> words = checksum.words();
  const auto bytes = std::span(code).first(words.end - words.begin);
  // Unreadable code gets a checksum that never matches.
  if (!reader.read(reader.state, words.begin, bytes)) return 0;
  return CodeChecksum::fold(hash_bytes(bytes, 0));
}

}  // namespace

bool RegisteredCfi::add_checksums(std::size_t part, ImageReader reader,
                                  GrowableArray<CodeChecksum>& out) noexcept {
  const std::size_t first = out.size();
  const CfiSection from = section(part);
  for (auto entry = from.parse_entry(0); entry; entry = from.parse_entry(entry->end)) {
    if (entry->is_cie) continue;
    const std::optional<CfiEntry> cie_entry = from.parse_entry(entry->cie);
    const std::optional<Cie> cie =
        cie_entry && cie_entry->is_cie ? from.parse_cie(*cie_entry) : std::nullopt;
    const std::optional<Fde> fde = cie ? from.parse_fde(*entry, *cie) : std::nullopt;
    if (!fde || fde->code.empty()) continue;
    CodeChecksum checksum{.begin = fde->code.begin,
                          .bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
                              fde->code.end - fde->code.begin, UINT32_MAX))};
    checksum.hash = read_hash(checksum, reader);
    if (!out.push_back(checksum)) return false;
  }
  parts_[part].checksums = {first, out.size()};
  return true;
}

bool RegisteredCfi::is_unchanged(std::size_t part, ImageReader reader) const noexcept {
  std::array<std::byte, 4096> now;
  auto then = section(part).bytes();
  std::uint64_t at = parts_[part].source.at;
  while (!then.empty()) {
    const auto bytes = std::span(now).first(std::min(then.size(), now.size()));
    if (!reader.read(reader.state, at, bytes) ||
        std::memcmp(bytes.data(), then.data(), bytes.size()) != 0) {
      return false;
    }
    at += bytes.size();
    then = then.subspan(bytes.size());
  }
  return true;
}

}  // namespace swipr::unwind
