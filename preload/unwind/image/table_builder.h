// Builds the unwind table of one mapped ELF image from its .eh_frame and, if that is not
// sufficient, its .debug_frame.
// Context: control thread.  Allocates: anonymous mappings of its own, never malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/image/elf_image.h"

namespace swipr::unwind {

class UnwindTable;

// .debug_frame, which is not mapped: of the image's file.
struct DebugFrame {
  ImageReader reader{};     // addresses are offsets in the section
  std::uint64_t bytes = 0;  // 0: none
};

struct BuildResult {
  BuildStatus status = BuildStatus::kNoCfi;
  const UnwindTable* table = nullptr;  // owned by the caller: destroy_table
  std::uint64_t eh_frame_bytes = 0;
  std::uint64_t load_bias = 0;       // valid when the ELF header was readable
  Range<std::uint64_t> text;         // image addresses, as in ElfImage
  Range<std::uint64_t> eh_frame;     // the same
  Range<std::uint64_t> dynamic;      // PT_DYNAMIC, run-time addresses
  FrameSearch search;                // count 0: tables of parts cannot be built
  std::uint64_t jit_descriptor = 0;  // run-time address of __jit_debug_descriptor; 0: not exported
  std::uint32_t build_id_bytes = 0;
  std::byte build_id[64] = {};  // of NT_GNU_BUILD_ID in a PT_NOTE
};

// Reads the properties of the image without building its table: kOk if it has .eh_frame, whose size
// is at most eh_frame_bytes.
// Bounds: a dozen small reads.
BuildResult describe_image(std::uint64_t elf_header, ImageReader reader) noexcept;
// `elf_header` is the run-time address of the image's ELF header.
// Bounds: at most 256 MiB of each section, time linear in it; malformed bytes cause a status, never
// a fault.
BuildResult build_table(std::uint64_t elf_header, ImageReader reader,
                        const DebugFrame& debug_frame = {}) noexcept;
// Builds the table of one part of the code of an image that was described and has a search table.
// Time and memory depend on the part only. kNoCfi: no FDE begins there.
// Bounds: as build_table.
BuildStatus build_part(const BuildResult& image, Range<std::uint64_t> part, ImageReader reader,
                       const UnwindTable*& table) noexcept;
void destroy_table(const UnwindTable* table) noexcept;
std::size_t table_memory_bytes(const UnwindTable* table) noexcept;

}  // namespace swipr::unwind
