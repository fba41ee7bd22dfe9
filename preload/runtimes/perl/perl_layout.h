// Where Perl 5.32 to 5.42 keeps what a stack walk reads, and how a process is seen to run one of
// them. Nothing of Perl is called. Source: the headers of each version (intrpvar.h, cop.h, cv.h,
// hv.h, gv.h), which describe the same structures for all builds; where fields differ, a name that
// is known proves which ones are there.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// Offsets in bytes, of struct interpreter; without threads, of the first of its variables.
struct PerlLayout {
  std::uint32_t main_package = 0;
  std::uint32_t statement = 0;    // the one that runs
  std::uint32_t context = 0;      // the innermost stack of calls
  bool has_name_in_body = false;  // of packages; else behind their table
  bool has_file_globs = false;    // of statements; else the names of files are texts

  bool operator==(const PerlLayout&) const = default;
};

// An interpreter in this process. A value: copy it. Valid while the image is mapped.
struct PerlRuntime {
  std::uint64_t first_interpreter = 0;  // where its address is; without threads, its variables
  std::uint64_t next_statement = 0;     // the code of the operation that begins a statement
  Range<std::uint64_t> loop;            // the code of Perl_runops_standard, for the splice
  // Of start_perl:
  PerlLayout layout{};
  std::int64_t interpreter_at = 0;  // where a thread has its own, from its thread pointer
  std::uint64_t only_thread = 0;    // without threads: its thread pointer
};

struct PerlDetection {
  DetectionState state = DetectionState::kAbsent;
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"
  const char* version = "";      // static text, as "5.36"; empty: unknown
  PerlRuntime runtime;
};

// Looks for Perl in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. kStarting at best: then start_perl. An image that has none costs a few small
// reads.
// Context: control thread.  Allocates: never.
PerlDetection detect_perl(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept;

// Whether the main thread, of that thread pointer, runs it by now; sets `state` and `reason`.
// Context: control thread.  Allocates: never.  Bounds: about 1,100 small reads.
void start_perl(PerlDetection& perl, std::uint64_t thread_pointer,
                unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
