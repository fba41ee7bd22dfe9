// Where Ruby 2.7 to 3.4 (CRuby) keeps what a stack walk reads, and how a process is seen to run one
// of them. Nothing of the interpreter is called. Source: vm_core.h, iseq.h, internal/string.h and
// internal/imemo.h of each version.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/runtimes/ruby/ruby_classes.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// Offsets and sizes in bytes. What all versions share is in the readers.
struct RubyLayout {
  std::uint8_t major;
  std::uint8_t minor;
  std::uint8_t frame_bytes;      // of a control frame
  std::uint8_t line_bytes;       // of an entry of the line table
  std::uint8_t lines;            // the line table, in the description of the code
  bool is_first_line_an_object;  // else an int
  bool has_text_length;          // short strings, too, have their length at 16
  bool has_compiled_frames;      // the last word of a frame says where compiled code returns
  bool has_native_thread;        // a thread leads to its native one, which has the pthread_t
  // Threads (rb_thread_t) and the lock of the machine.
  std::uint8_t context_thread;      // in an execution context
  std::uint8_t thread_context;      // in a thread …
  std::uint8_t thread_id;           // … or in its native one: the pthread_t
  std::uint8_t thread_links;        // in a thread that waits for the lock
  std::uint8_t owner_before_links;  // the lock's owner, so far before the head of its list
};

// nullptr: no version that is known.
const RubyLayout* find_ruby_layout(unsigned major, unsigned minor) noexcept;

// How a thread is seen to collect garbage (ruby_collector.h).
struct RubyCollector {
  Range<std::uint64_t> code{};  // of rb_during_gc; begin 0: it is not exported
  std::uint64_t flag = 0;       // address of the byte that says so; 0: not known
  std::uint8_t mask = 0;        // its bit in that byte
  std::uint16_t running = 0;    // 3.0+: where a Ractor has the context that holds its lock
};

// An interpreter in this process. A value: copy it. Valid while the image is mapped.
struct RubyRuntime {
  RubyLayout layout{};
  // 3.0+: where each thread has the address of its execution context.
  std::uint32_t tls_module = 0;  // number of the image among those with thread-local variables
  std::uint32_t tls_offset = 0;
  // 2.7: addresses of variables. The execution context of the thread that holds the lock of the
  // interpreter, and the virtual machine, which has a list of all threads.
  std::uint64_t current_context = 0;
  std::uint64_t machine = 0;
  std::uint64_t pthread_offset = 0;  // find_pthread_offset
  Range<std::uint64_t> loop{};       // the code of the interpreter's loop, for the splice
  // The variable with the table of names of methods; 0: those that are written in C have no tokens.
  std::uint64_t names = 0;
  RubyClasses classes{};
  RubyCollector collector{};
};

struct RubyDetection {
  DetectionState state = DetectionState::kAbsent;
  char version[16] = {};         // "3.1.7"
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"
  RubyRuntime runtime;  // with kFound: to be read once start_ruby has found a thread of Ruby
};

// Looks for Ruby in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs three or four small reads.
// Context: control thread.  Allocates: never.
RubyDetection detect_ruby(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept;

// Completes a runtime that was found, by the frames of a thread that runs Ruby: the thread-local
// variable and the code of the loop are not exported by all versions. The frame's function proves
// the layout. False: the thread has no such frame, or cannot be read; try again.
// `header`: the image's ELF header. `thread_pointer`: of the thread.
// Context: control thread.  Allocates: mmap.  Bounds: 64 images with thread-local variables.
bool start_ruby(RubyRuntime& ruby, std::uint64_t header, std::uint64_t thread_pointer,
                unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
