#include "preload/unwind/image/elf_image.h"

#include <elf.h>

#include <cstring>

#include "common/core/byte_cursor.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/cfi/encoded_pointer.h"
#include "preload/unwind/image/build_id.h"

namespace swipr::unwind {
namespace {

constexpr unsigned kMaxProgramHeaders = 256;  // real images have about a dozen
constexpr std::uint64_t kMaxNoteBytes = 1 << 20;

class ImageParser {
 public:
  ImageParser(std::uint64_t elf_header, ImageReader reader, ElfImage& image) noexcept
      : start_(elf_header), reader_(reader), image_(image) {}

  BuildStatus run() noexcept {
    Elf64_Ehdr header;
    if (!reader_.read_value(start_, header)) return BuildStatus::kUnreadable;
    if (!is_supported(header)) return BuildStatus::kDamaged;
    header_count_ = header.e_phnum;
    headers_ = start_ + header.e_phoff;
    if (!find_load_bias()) return BuildStatus::kDamaged;
    read_build_id();
    find_dynamic();
    return find_eh_frame();
  }

 private:
  static bool is_supported(const Elf64_Ehdr& header) noexcept {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == kElfMachine && header.e_phentsize == sizeof(Elf64_Phdr) &&
           header.e_phnum <= kMaxProgramHeaders;
  }

  // False at the end of the headers and if one is unreadable.
  bool next(unsigned& index, std::uint32_t type, Elf64_Phdr& out) const noexcept {
    for (; index < header_count_; ++index) {
      if (!reader_.read_value(headers_ + index * sizeof out, out)) return false;
      if (out.p_type != type) continue;
      ++index;
      return true;
    }
    return false;
  }

  // The header that was read at start_ is in the segment that contains file offset 0.
  bool find_load_bias() noexcept {
    Elf64_Phdr segment;
    bool found = false;
    for (unsigned index = 0; next(index, PT_LOAD, segment);) {
      if (!found) image_.load_bias = start_ - (segment.p_vaddr - segment.p_offset);
      found = true;
      if ((segment.p_flags & PF_X) == 0) continue;
      const std::uint64_t end = segment.p_vaddr + segment.p_memsz;
      if (end < segment.p_vaddr) return false;
      if (image_.text.empty() || segment.p_vaddr < image_.text.begin) {
        image_.text.begin = segment.p_vaddr;
      }
      if (end > image_.text.end) image_.text.end = end;
    }
    return found;
  }

  void read_build_id() noexcept {
    Elf64_Phdr segment;
    for (unsigned index = 0; next(index, PT_NOTE, segment) && image_.build_id_bytes == 0;) {
      if (segment.p_filesz > kMaxNoteBytes) continue;
      image_.build_id_bytes = unwind::read_build_id(
          {image_.load_bias + segment.p_vaddr, segment.p_filesz, segment.p_align}, reader_,
          image_.build_id);
    }
  }

  void find_dynamic() noexcept {
    Elf64_Phdr segment;
    unsigned index = 0;
    if (!next(index, PT_DYNAMIC, segment)) return;
    const std::uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (end > segment.p_vaddr) image_.dynamic = {segment.p_vaddr, end};
  }

  BuildStatus find_eh_frame() noexcept {
    Elf64_Phdr header_segment;
    unsigned index = 0;
    if (!next(index, PT_GNU_EH_FRAME, header_segment)) return BuildStatus::kNoCfi;
    // version, three encodings, the pointer to .eh_frame, at most 8 bytes of any encoding that
    // linkers use, and mostly the number of entries of the search table.
    std::byte bytes[12] = {};
    const std::uint64_t address = header_segment.p_vaddr;
    const std::uint64_t available = header_segment.p_filesz;
    const std::span<std::byte> head(bytes, available < sizeof bytes ? 8 : sizeof bytes);
    if (available < 8) return BuildStatus::kDamaged;
    if (!reader_.read(reader_.state, image_.load_bias + address, head)) {
      return BuildStatus::kUnreadable;
    }
    ByteCursor cursor(head);
    const std::uint8_t version = cursor.u8();
    const std::uint8_t encoding = cursor.u8();
    cursor.skip(2);
    const PointerBases bases{.field = address + 4, .data = address, .absolute = image_.load_bias};
    std::uint64_t eh_frame = 0;
    if (version != 1 || !decode_pointer(cursor, encoding, bases, eh_frame)) {
      return BuildStatus::kDamaged;
    }
    const BuildStatus status = bound_eh_frame(eh_frame, address);
    if (status == BuildStatus::kOk) find_search(head, header_segment);
    return status;
  }

  // As all linkers write it: the pointer in four bytes, the count as udata4, the entries as datarel
  // sdata4. An FDE takes more bytes than its entry does.
  void find_search(std::span<const std::byte> head, const Elf64_Phdr& segment) noexcept {
    constexpr std::uint8_t kSigned4 = 0x0b;
    constexpr std::uint8_t kUnsigned4 = 0x03;
    constexpr std::uint8_t kDataRelativeSigned4 = 0x3b;
    ByteCursor cursor(head);
    cursor.skip(1);
    const bool is_usual = (cursor.u8() & 0x0f) == kSigned4 && cursor.u8() == kUnsigned4 &&
                          cursor.u8() == kDataRelativeSigned4;
    cursor.skip(4);
    const auto count = cursor.fixed<std::uint32_t>();
    const std::uint64_t bytes = std::uint64_t{count} * FrameSearch::kEntryBytes;
    if (!is_usual || cursor.failed() || bytes > segment.p_filesz - FrameSearch::kEntriesAt ||
        bytes > image_.eh_frame.end - image_.eh_frame.begin) {
      return;
    }
    image_.search = {.header = segment.p_vaddr, .count = count};
  }

  // Its section header is not mapped: it ends at a zero length, and at the latest where its segment
  // or, when that comes behind it, .eh_frame_hdr does.
  BuildStatus bound_eh_frame(std::uint64_t eh_frame, std::uint64_t eh_frame_header) noexcept {
    Elf64_Phdr segment;
    for (unsigned index = 0; next(index, PT_LOAD, segment);) {
      const std::uint64_t end = segment.p_vaddr + segment.p_filesz;
      if (end < segment.p_vaddr || eh_frame < segment.p_vaddr || eh_frame >= end) continue;
      const bool header_behind = eh_frame < eh_frame_header && eh_frame_header < end;
      image_.eh_frame = {eh_frame, header_behind ? eh_frame_header : end};
      return BuildStatus::kOk;
    }
    return BuildStatus::kDamaged;
  }

  std::uint64_t start_;
  ImageReader reader_;
  ElfImage& image_;
  std::uint64_t headers_ = 0;
  unsigned header_count_ = 0;
};

}  // namespace

BuildStatus read_elf_image(std::uint64_t elf_header, ImageReader reader, ElfImage& image) noexcept {
  return ImageParser(elf_header, reader, image).run();
}

}  // namespace swipr::unwind
