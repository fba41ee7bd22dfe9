#include "preload/unwind/image/table_builder.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/cfi/cfi_compiler.h"
#include "preload/unwind/cfi/cfi_section.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/image/elf_image.h"
#include "preload/unwind/image/frame_search.h"
#include "preload/unwind/image/section_copy.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kMaxSectionBytes = 256 << 20;
constexpr std::size_t kPieceBytes = 256 << 10;  // most libraries need one or two reads
constexpr std::size_t kEntryHeadBytes = 12;     // the longest length field

// Reads [section.begin, its terminator or section.end) into `out`.
BuildStatus copy_section(Range<std::uint64_t> section, std::uint64_t load_bias, ImageReader reader,
                         GrowableArray<std::byte>& out) noexcept {
  const std::uint64_t limit = section.end - section.begin;
  std::uint64_t next = 0;  // offset of the first entry whose length has not been read
  while (out.size() < limit) {
    const std::size_t done = out.size();
    if (done > kMaxSectionBytes) return BuildStatus::kTooLarge;
    const std::size_t piece = std::min<std::uint64_t>(kPieceBytes, limit - done);
    if (!out.resize(done + piece)) return BuildStatus::kNoMemory;
    const std::uint64_t address = load_bias + section.begin + done;
    if (!reader.read(reader.state, address, out.span().subspan(done))) {
      return BuildStatus::kUnreadable;
    }
    while (next + kEntryHeadBytes <= out.size() || (out.size() == limit && next < limit)) {
      const std::uint64_t bytes = CfiSection::entry_bytes(out.span(), next);
      if (bytes == 0 || bytes > limit - next) {
        out.truncate(next);
        return BuildStatus::kOk;
      }
      next += bytes;
    }
  }
  return BuildStatus::kOk;
}

// Reads the first page of an image at once: each read is a system call, and that page contains
// headers, build-id and often the hash table.
class FirstPage {
 public:
  FirstPage(std::uint64_t begin, ImageReader reader) noexcept : begin_(begin), reader_(reader) {
    is_read_ = reader.read(reader.state, begin, bytes_);
  }
  ImageReader reader() noexcept { return {&read, this}; }

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const auto& self = *static_cast<const FirstPage*>(state);
    const std::uint64_t at = address - self.begin_;
    if (!self.is_read_ || at > self.bytes_.size() || out.size() > self.bytes_.size() - at) {
      return self.reader_.read(self.reader_.state, address, out);
    }
    if (!out.empty()) std::memcpy(out.data(), self.bytes_.data() + at, out.size());
    return true;
  }

  std::uint64_t begin_;
  ImageReader reader_;
  bool is_read_ = false;
  std::array<std::byte, 4096> bytes_;
};

BuildResult describe(std::uint64_t elf_header, ImageReader direct, ElfImage& image) noexcept {
  FirstPage first_page(elf_header, direct);
  const ImageReader reader = first_page.reader();
  BuildResult result;
  result.status = read_elf_image(elf_header, reader, image);
  result.load_bias = image.load_bias;
  result.text = image.text;
  result.eh_frame = image.eh_frame;
  result.search = image.search;
  result.build_id_bytes = image.build_id_bytes;
  std::memcpy(result.build_id, image.build_id, image.build_id_bytes);
  result.dynamic = {image.load_bias + image.dynamic.begin, image.load_bias + image.dynamic.end};
  result.jit_descriptor =
      find_exported(result.dynamic, image.load_bias, "__jit_debug_descriptor", reader);
  result.eh_frame_bytes = image.eh_frame.end - image.eh_frame.begin;
  return result;
}

}  // namespace

BuildResult describe_image(std::uint64_t elf_header, ImageReader reader) noexcept {
  ElfImage image;
  return describe(elf_header, reader, image);
}

BuildResult build_table(std::uint64_t elf_header, ImageReader reader,
                        const DebugFrame& debug_frame) noexcept {
  ElfImage image;
  BuildResult result = describe(elf_header, reader, image);
  const bool has_eh_frame = result.status == BuildStatus::kOk;
  if (!has_eh_frame && debug_frame.bytes == 0) return result;
  GrowableArray<std::byte> eh_bytes;
  GrowableArray<std::byte> debug_bytes;
  if (has_eh_frame) {
    result.status = copy_section(image.eh_frame, image.load_bias, reader, eh_bytes);
    if (result.status != BuildStatus::kOk) return result;
  }
  result.eh_frame_bytes = eh_bytes.size();
  if (debug_frame.bytes != 0) {
    result.status = copy_section({0, debug_frame.bytes}, 0, debug_frame.reader, debug_bytes);
    if (result.status != BuildStatus::kOk) return result;
  }
  const CfiSection eh_frame(eh_bytes.span(), image.eh_frame.begin, image.load_bias);
  // Addresses in a file are link-time addresses.
  const CfiSection debug(debug_bytes.span(), 0, 0, CfiFormat::kDebugFrame);
  const std::array sections{PlacedSection{eh_frame, 0}, PlacedSection{debug, eh_bytes.size()}};
  result.status = compile_cfi(sections, image.text, result.table);
  return result;
}

BuildStatus build_part(const BuildResult& image, Range<std::uint64_t> part, ImageReader reader,
                       const UnwindTable*& table) noexcept {
  FdeList fdes;
  SectionCopy copy;
  BuildStatus status = find_fdes(image, part, reader, fdes);
  if (status == BuildStatus::kOk) status = copy.open(image.eh_frame, image.load_bias, reader);
  if (status != BuildStatus::kOk) return status;
  for (const FdeIndex fde : fdes.span()) {
    if (!copy.load_entry(fde.position())) return BuildStatus::kUnreadable;
  }
  const CfiSection section(copy.bytes(), image.eh_frame.begin, image.load_bias);
  return compile_fdes(section, image.text, fdes.span(), table);
}

void destroy_table(const UnwindTable* table) noexcept {
  if (table == nullptr) return;
  const Mapping mapping = table->mapping;  // the table itself is in it
  ::munmap(mapping.memory, mapping.bytes);
}

std::size_t table_memory_bytes(const UnwindTable* table) noexcept {
  return table == nullptr ? 0 : table->mapping.bytes;
}

}  // namespace swipr::unwind
