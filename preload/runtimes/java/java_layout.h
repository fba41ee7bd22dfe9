// Where HotSpot keeps what a stack walk reads, and how a process is seen to run it. The VM
// describes its fields in exported tables (gHotSpotVMStructs, gHotSpotVMTypes): no offset is known
// beforehand, but a field that is not described is a refusal. Nothing of the VM is called. Source:
// src/hotspot/share/runtime/vmStructs.hpp, 11 to 28, and src/share/vm/runtime/vmStructs.cpp, 8.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kNoJavaField = ~std::uint32_t{0};

// Offsets in bytes; kNoJavaField: this version has no such field. *_bytes are sizes of types.
struct JavaLayout {
  std::uint32_t array_length = kNoJavaField;
  std::uint32_t array_data = kNoJavaField;
  std::uint32_t queue_buffer = kNoJavaField;
  std::uint32_t queue_limit = kNoJavaField;
  std::uint32_t heap_memory = kNoJavaField;
  std::uint32_t heap_segment_map = kNoJavaField;
  std::uint32_t heap_segment_shift = kNoJavaField;
  std::uint32_t space_low = kNoJavaField;
  std::uint32_t space_high = kNoJavaField;
  std::uint32_t space_end = kNoJavaField;  // of what is reserved
  std::uint32_t block_is_used = kNoJavaField;
  std::uint32_t block_bytes = kNoJavaField;
  std::uint32_t blob_name = kNoJavaField;
  std::uint32_t blob_frame_words = kNoJavaField;
  std::uint32_t blob_frame_complete = kNoJavaField;
  std::uint32_t blob_code_begin = kNoJavaField;   // a pointer …
  std::uint32_t blob_code_offset = kNoJavaField;  // … or an offset in the blob
  std::uint32_t blob_data_offset = kNoJavaField;
  std::uint32_t blob_mutable_data = kNoJavaField;
  std::uint32_t blob_relocation_bytes = kNoJavaField;
  std::uint32_t nmethod_method = kNoJavaField;
  std::uint32_t nmethod_compile_id = kNoJavaField;
  std::uint32_t nmethod_stub = kNoJavaField;         // offset of the code for exceptions and such
  std::uint32_t nmethod_original_pc = kNoJavaField;  // offset in the frame: where it would return
  std::uint32_t nmethod_scopes_pcs = kNoJavaField;
  std::uint32_t nmethod_scopes_begin = kNoJavaField;   // a pointer …
  std::uint32_t nmethod_scopes_offset = kNoJavaField;  // … or an offset
  std::uint32_t nmethod_metadata = kNoJavaField;
  std::uint32_t nmethod_immutable_data = kNoJavaField;
  std::uint32_t method_const = kNoJavaField;
  std::uint32_t const_pool = kNoJavaField;
  std::uint32_t const_flags = kNoJavaField;
  std::uint32_t const_words = kNoJavaField;
  std::uint32_t const_code_bytes = kNoJavaField;
  std::uint32_t const_name = kNoJavaField;
  std::uint32_t const_bytes = kNoJavaField;
  std::uint32_t pool_holder = kNoJavaField;
  std::uint32_t pool_bytes = kNoJavaField;
  std::uint32_t pool_file = kNoJavaField;   // index of the file's name: here …
  std::uint32_t class_file = kNoJavaField;  // … or in the class
  std::uint32_t class_name = kNoJavaField;
  std::uint32_t symbol_bytes = kNoJavaField;
  std::uint32_t symbol_body = kNoJavaField;
  std::uint32_t thread_anchor = kNoJavaField;
  std::uint32_t thread_os = kNoJavaField;
  std::uint32_t thread_next = kNoJavaField;
  std::uint32_t anchor_stack = kNoJavaField;
  std::uint32_t anchor_pc = kNoJavaField;
  std::uint32_t anchor_frame = kNoJavaField;
  std::uint32_t wrapper_anchor = kNoJavaField;
  std::uint32_t os_tid = kNoJavaField;
  std::uint32_t threads_length = kNoJavaField;
  std::uint32_t threads_array = kNoJavaField;
  // Of java_waits.h:
  std::uint32_t thread_entered = kNoJavaField;    // the monitor that it waits to enter
  std::uint32_t thread_awaited = kNoJavaField;    // … in whose Object.wait() it is
  std::uint32_t thread_owner_id = kNoJavaField;   // what its monitors call it, 24+
  std::uint32_t thread_stack_end = kNoJavaField;  // the highest address
  std::uint32_t thread_stack_bytes = kNoJavaField;
  std::uint32_t thread_locks = kNoJavaField;  // the objects that it has locked without a monitor
  std::uint32_t locks_top = kNoJavaField;     // holds an offset in the thread
  std::uint32_t locks_first = kNoJavaField;
  std::uint32_t monitor_object = kNoJavaField;
  std::uint32_t monitor_owner = kNoJavaField;
  std::uint32_t object_class = kNoJavaField;

  friend bool operator==(const JavaLayout&, const JavaLayout&) = default;
};

// Addresses of static fields; 0: this version has none.
struct JavaStatics {
  std::uint64_t major_version = 0;
  std::uint64_t code_heaps = 0;  // a list …
  std::uint64_t code_heap = 0;   // … or, 8, the only one: the next two are those of its memory
  std::uint64_t code_low = 0;
  std::uint64_t code_high = 0;
  std::uint64_t interpreter = 0;
  std::uint64_t call_stub_return = 0;
  std::uint64_t return_barrier = 0;  // 27+
  std::uint64_t threads = 0;         // a list, 17+ …
  std::uint64_t first_thread = 0;    // … or the first of linked threads
  std::uint64_t counters = 0;        // of java_counters.h
  std::uint64_t class_base = 0;      // of compressed pointers to classes …
  std::uint64_t class_shift = 0;     // … 32 bits

  friend bool operator==(const JavaStatics&, const JavaStatics&) = default;
};

struct JavaCodeHeap {
  Range<std::uint64_t> memory;    // the committed part: never unmapped …
  std::uint64_t segment_map = 0;  // … and that of its map, a byte for each segment of `memory`

  friend bool operator==(const JavaCodeHeap&, const JavaCodeHeap&) = default;
};

// A virtual machine in this process. A value: copy it. Valid while the image is mapped.
struct JavaRuntime {
  static constexpr std::size_t kMaxHeaps = 4;

  JavaLayout layout;
  JavaStatics statics;
  // Of refresh_java:
  std::uint32_t version = 0;  // 17
  std::uint32_t segment_shift = 0;
  Range<std::uint64_t> code;  // all heaps; reserved, not all of it is readable
  Range<std::uint64_t> interpreter;
  std::uint64_t call_stub_return = 0;
  std::uint64_t return_barrier = 0;    // of continuations; 0: not described
  std::uint64_t unloaded_classes = 0;  // the address of their number, 64 bits; 0: unknown
  std::array<JavaCodeHeap, kMaxHeaps> heaps;

  friend bool operator==(const JavaRuntime&, const JavaRuntime&) = default;
};

struct JavaDetection {
  DetectionState state = DetectionState::kAbsent;
  // Static text, for "frames not read (REASON)": a field that the VM does not describe, if
  // is_field_missing, as "nmethod._method".
  const char* reason = nullptr;
  bool is_field_missing = false;
  JavaRuntime runtime;  // with kFound: its frames can be read once refresh_java says so
};

// Looks for HotSpot in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs a few small reads, a VM some thousand: the reader
// of an ObjectPieces makes most of them free.
// Context: control thread.  Allocates: never.  Bounds: 8,192 entries of each table.
JavaDetection detect_java(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept;

// Reads what the VM sets when it starts, and what grows later. False: it is not ready, `java` is as
// it was. The interpreter's range shrinks soon after the start, and heaps grow: call it now and
// then, and whenever an address in `code` is in no heap.
// Context: control thread.  Allocates: never.  Bounds: about 30 small reads, when it
// becomes ready about 100 more (java_counters.h).
bool refresh_java(JavaRuntime& java, unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
