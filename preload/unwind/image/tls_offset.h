// Where an exported thread-local variable of a mapped ELF image is: its distance from the thread
// pointer, which is the same in all threads if the variable is in static TLS, as those of programs,
// of libraries that are loaded with them, and mostly of others are. The loader is not asked, whose
// lock the program may hold: its results are in the words that relocations name.
// Context: control thread.  Allocates: never.
// Source: ELF Handling For Thread-Local Storage (Drepper); RFC TLSDESC x86 (Oliva); ELF for the Arm
// 64-bit Architecture, TLS.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::unwind {

struct TlsImage {
  std::uint64_t header = 0;  // run-time address of the ELF header
  std::uint64_t load_bias = 0;
  Range<std::uint64_t> dynamic;  // run-time addresses of PT_DYNAMIC
  bool is_program = false;       // the executable that the process runs
};
struct TlsOffset {
  bool is_exported = false;
  std::int64_t offset = 0;  // 0: not in static TLS, or not resolved yet
};
// Bounds: 8 MiB of relocations, of an image that exports the variable only.
TlsOffset find_tls_offset(const TlsImage& image, std::string_view name,
                          ImageReader reader) noexcept;

}  // namespace swipr::unwind
