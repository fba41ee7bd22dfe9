// Builds an ELF image with given call frame information, byte by byte.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "preload/unwind/image/table_builder.h"

namespace swipr::unwind {

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::initializer_list<int> values) {
    for (const int value : values) number(static_cast<std::uint8_t>(value));
  }
  template <typename T>
  Bytes& number(T value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    data.insert(data.end(), begin, begin + sizeof value);
    return *this;
  }
  Bytes& append(const Bytes& other) {
    data.insert(data.end(), other.data.begin(), other.data.end());
    return *this;
  }
  Bytes& text(std::string_view value) {
    for (const char c : value) number(c);
    return number('\0');
  }
  template <typename T>
  void put(std::size_t offset, T value) {
    if (data.size() < offset + sizeof value) data.resize(offset + sizeof value);
    std::memcpy(data.data() + offset, &value, sizeof value);
  }
  std::size_t size() const { return data.size(); }

  std::vector<std::byte> data;
};

struct CieOptions {
  std::string_view augmentation = "zR";
  Bytes augmentation_data = {0x1b};  // FDE pointers: pcrel, sdata4
  std::uint8_t version = 1;
  std::uint8_t code_alignment = 1;
  std::uint8_t data_alignment = 0x78;  // -8 as SLEB128
  std::uint8_t return_address = 16;
};

class CfiImage {
 public:
  static constexpr std::uint64_t kText = 0x100000;  // image address of the executable segment
  static constexpr std::uint64_t kTextBytes = 0x100000;
  static constexpr std::uint64_t kLoadBias = 0x7f0000000000;
  static constexpr std::size_t kEhFrame = 0x1000;

  // CFA = rsp + 8, return address at CFA - 8: the initial state of every compiler.
  static Bytes initial() { return {0x0c, 7, 8, 0x90, 1}; }

  std::size_t add_cie(const Bytes& instructions = initial(), const CieOptions& options = {});
  // Where the FDE begins in eh_frame. After its CIE. With "z" the augmentation data is empty.
  std::size_t add_fde(std::size_t cie, std::uint64_t start, std::uint32_t size,
                      const Bytes& instructions);
  // An entry of the search table in .eh_frame_hdr, which there is when it has any.
  void add_search(std::uint64_t start, std::size_t fde) { search.push_back({start, fde}); }
  void add_raw(const Bytes& bytes) { eh_frame.append(bytes); }

  // The image in memory, at kLoadBias. Tests may damage it before they build.
  Bytes finish() const;
  static BuildResult build(const Bytes& image);
  // Of `image`, which outlives the reader.
  static ImageReader reader_of(const Bytes& image);
  BuildResult build() const { return build(finish()); }

  static constexpr std::size_t kEhFrameHeader = 0x400;

  struct Search {
    std::uint64_t start;
    std::size_t fde;
  };
  Bytes eh_frame;
  std::vector<Search> search;
  std::size_t trailing_bytes = 64;  // of zero after .eh_frame; the first four are the terminator
  static constexpr std::uint64_t kBuildId = 0x1122334455667788;

 private:
  void add_entry(Bytes body);
};

}  // namespace swipr::unwind
