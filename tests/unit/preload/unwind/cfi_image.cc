#include "tests/unit/preload/unwind/cfi_image.h"

#include <array>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {
namespace {

constexpr std::size_t kNotes = 0x300;

Elf64_Phdr segment(std::uint32_t type, std::uint32_t flags, std::uint64_t address,
                   std::uint64_t file_bytes, std::uint64_t memory_bytes) {
  Elf64_Phdr header = {};
  header.p_type = type;
  header.p_flags = flags;
  header.p_offset = address;
  header.p_vaddr = address;
  header.p_filesz = file_bytes;
  header.p_memsz = memory_bytes;
  header.p_align = 4;
  return header;
}

}  // namespace

void CfiImage::add_entry(Bytes body) {
  while (body.size() % 4 != 0) body.number(std::uint8_t{0});  // DW_CFA_nop
  eh_frame.number(static_cast<std::uint32_t>(body.size())).append(body);
}

std::size_t CfiImage::add_cie(const Bytes& instructions, const CieOptions& options) {
  const std::size_t offset = eh_frame.size();
  Bytes body;
  body.number(std::uint32_t{0}).number(options.version).text(options.augmentation);
  body.number(options.code_alignment).number(options.data_alignment);
  body.number(options.return_address);
  if (options.augmentation.starts_with('z')) {
    body.number(static_cast<std::uint8_t>(options.augmentation_data.size()));
    body.append(options.augmentation_data);
  }
  add_entry(body.append(instructions));
  return offset;
}

std::size_t CfiImage::add_fde(std::size_t cie, std::uint64_t start, std::uint32_t size,
                              const Bytes& instructions) {
  const std::size_t offset = eh_frame.size();
  const std::size_t id_at = offset + 4;
  Bytes body;
  body.number(static_cast<std::uint32_t>(id_at - cie));
  body.number(static_cast<std::int32_t>(start - (kEhFrame + id_at + 4)));
  body.number(size).number(std::uint8_t{0});
  add_entry(body.append(instructions));
  return offset;
}

Bytes CfiImage::finish() const {
  Bytes image;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = kElfMachine;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof header;
  const std::size_t bytes = kEhFrame + eh_frame.size() + trailing_bytes;
  const std::size_t header_bytes = 12 + 8 * search.size();
  const auto segments = std::to_array<Elf64_Phdr>(
      {segment(PT_LOAD, PF_R, 0, bytes, bytes), segment(PT_LOAD, PF_R | PF_X, kText, 0, kTextBytes),
       segment(PT_NOTE, PF_R, kNotes, 24, 24),
       segment(PT_GNU_EH_FRAME, PF_R, kEhFrameHeader, header_bytes, header_bytes)});
  header.e_phnum = static_cast<std::uint16_t>(segments.size());
  image.put(0, header);
  image.put(sizeof header, segments);
  image.put(kNotes, Elf64_Nhdr{4, sizeof kBuildId, NT_GNU_BUILD_ID});
  image.put(kNotes + 12, std::uint32_t{0x554e47});  // "GNU"
  image.put(kNotes + 16, kBuildId);
  image.put(kEhFrameHeader, std::uint32_t{0x3b031b01});  // version 1, pointer pcrel sdata4
  image.put(kEhFrameHeader + 4, static_cast<std::int32_t>(kEhFrame - kEhFrameHeader - 4));
  if (!search.empty()) {
    image.put(kEhFrameHeader + 8, static_cast<std::uint32_t>(search.size()));
  }
  for (std::size_t at = 0; at < search.size(); ++at) {
    const std::size_t entry = kEhFrameHeader + 12 + 8 * at;
    image.put(entry, static_cast<std::int32_t>(search[at].start - kEhFrameHeader));
    image.put(entry + 4, static_cast<std::int32_t>(kEhFrame + search[at].fde - kEhFrameHeader));
  }
  image.data.resize(kEhFrame);
  image.append(eh_frame);
  image.data.resize(bytes);
  return image;
}

ImageReader CfiImage::reader_of(const Bytes& image) {
  return {[](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
            const auto& bytes = *static_cast<const std::vector<std::byte>*>(state);
            const std::uint64_t offset = address - kLoadBias;
            if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
            if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
            return true;
          },
          const_cast<std::vector<std::byte>*>(&image.data)};
}

BuildResult CfiImage::build(const Bytes& image) { return build_table(kLoadBias, reader_of(image)); }

}  // namespace swipr::unwind
