#include "preload/unwind/image/build_id.h"

#include <elf.h>

#include <cstring>

namespace swipr::unwind {

std::uint32_t read_build_id(const NoteSegment& segment, ImageReader reader,
                            std::span<std::byte> out) noexcept {
  constexpr unsigned kMaxNotes = 64;
  const std::uint64_t alignment = segment.alignment == 8 ? 8 : 4;
  const auto aligned = [alignment](std::uint64_t n) { return (n + alignment - 1) & -alignment; };
  std::uint64_t offset = 0;
  for (unsigned count = 0; count < kMaxNotes && segment.bytes >= sizeof(Elf64_Nhdr) &&
                           offset <= segment.bytes - sizeof(Elf64_Nhdr);
       ++count) {
    const std::uint64_t note = segment.address + offset;
    Elf64_Nhdr header;
    char name[4] = {};
    if (!reader.read_value(note, header)) return 0;
    const std::uint64_t description = aligned(sizeof header + header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof name &&
        reader.read_value(note + sizeof header, name) &&
        std::memcmp(name, ELF_NOTE_GNU, sizeof name) == 0) {
      if (header.n_descsz > out.size()) return 0;
      const bool read = reader.read(reader.state, note + description, out.first(header.n_descsz));
      return read ? header.n_descsz : 0;
    }
    offset += aligned(description + header.n_descsz);
  }
  return 0;
}

}  // namespace swipr::unwind
