// Where V8 keeps what a walk over JavaScript frames reads, and how a process is seen to run it. V8
// describes its objects by exported constants (v8dbg_*): no offset of an object that they describe
// is known beforehand, and a constant that is missing is a refusal. Their names end with the type
// of the field, which changes between versions: hence they are found by the beginning of the name.
// What they do not describe depends on the version, so that unknown versions are refused. Nothing
// of V8 is called. Source: tools/gen-postmortem-metadata.py, 10.2 (node 18) to 14.6 (node 26).
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::int32_t kNoV8Constant = INT32_MIN;

// Offsets in bytes, of objects from their first byte; *_type are instance types.
struct V8Layout {
  std::int32_t tagged_shift = kNoV8Constant;
  std::int32_t small_integer_shift = kNoV8Constant;
  std::int32_t frame_context = kNoV8Constant;  // from the frame pointer
  std::int32_t frame_function = kNoV8Constant;
  std::int32_t frame_bytecode = kNoV8Constant;
  std::int32_t frame_position = kNoV8Constant;
  std::int32_t map_type = kNoV8Constant;
  std::int32_t first_function_type = kNoV8Constant;
  std::int32_t last_function_type = kNoV8Constant;  // optional
  std::int32_t function_shared = kNoV8Constant;
  std::int32_t shared_type = kNoV8Constant;
  std::int32_t shared_name = kNoV8Constant;
  std::int32_t shared_script = kNoV8Constant;
  std::int32_t scope_type = kNoV8Constant;
  std::int32_t scope_locals = kNoV8Constant;  // index of a slot, as the next
  std::int32_t scope_first = kNoV8Constant;
  std::int32_t script_type = kNoV8Constant;
  std::int32_t script_name = kNoV8Constant;
  std::int32_t script_source = kNoV8Constant;
  std::int32_t script_line_ends = kNoV8Constant;
  std::int32_t oddball_type = kNoV8Constant;
  std::int32_t array_type = kNoV8Constant;
  std::int32_t array_length = kNoV8Constant;
  std::int32_t array_data = kNoV8Constant;
  std::int32_t bytes_type = kNoV8Constant;
  std::int32_t trusted_bytes_type = kNoV8Constant;  // optional
  std::int32_t bytecode_type = kNoV8Constant;
  std::int32_t bytecode_data = kNoV8Constant;
  std::int32_t first_other_type = kNoV8Constant;  // lower types are strings
  std::int32_t string_length = kNoV8Constant;
  std::int32_t string_one_byte = kNoV8Constant;
  std::int32_t string_two_byte = kNoV8Constant;
  std::int32_t cons_first = kNoV8Constant;
  std::int32_t cons_second = kNoV8Constant;
  std::int32_t sliced_parent = kNoV8Constant;
  std::int32_t sliced_offset = kNoV8Constant;
  std::int32_t thin_actual = kNoV8Constant;
  std::int32_t external_resource = kNoV8Constant;
  std::int32_t code_type = kNoV8Constant;  // optional
};

struct V8Version {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::int32_t build = 0;
  std::int32_t patch = 0;
};

// What depends on the version and is not described.
enum class V8CodeForm : std::uint8_t { kUnknown, k10, k11, k12, k13 };
struct V8Traits {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::int32_t bytecode_lines = 0;         // of the bytecode: offset of its table of positions
  std::uint8_t function_scope = 0;         // a scope's type: of a function …
  std::uint8_t module_scope = 0;           // … and of a module
  std::uint8_t eval_scope = 0;             // … and of code given to eval
  bool is_module_counted_first = false;    // module scopes: a count precedes the variables
  bool has_wide_entries = false;           // the table of positions: two flags for each entry
  V8CodeForm code = V8CodeForm::kUnknown;  // objects of optimized code, in v8_code.h
};

// V8 in this process. A value: copy it. Valid while the image is mapped.
struct V8Runtime {
  V8Layout layout;
  V8Traits traits;
  V8Version version;
  Range<std::uint64_t> image{};  // up to its data: has the interpreter and built-in functions
};

struct V8Detection {
  DetectionState state = DetectionState::kAbsent;
  // Static text, for "frames not read (REASON)": if is_constant_missing, the beginning of its name.
  const char* reason = nullptr;
  bool is_constant_missing = false;
  V8Runtime runtime;  // with kFound
};

// Looks for V8 in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs a few small reads. Of one that has, all names of
// dynamic symbols are read: some MiB, 1 to 3 ms.
// Context: control thread. Stack: 5 KiB.  Allocates: never.  Bounds: 16 MiB of names.
V8Detection detect_v8(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                      unwind::ImageReader reader) noexcept;

// The traits of a version; nullptr: unknown.
const V8Traits* find_v8_traits(std::int32_t major, std::int32_t minor) noexcept;

}  // namespace swipr::runtimes
