// Ruby frames of one thread as tokens, and its execution context. Everything that is read may be
// garbage: a thread is interrupted anywhere, and from outside it may be running meanwhile. Hence
// each frame's code is checked, and every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: see the constants; stack about 200 bytes.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_collector.h"
#include "preload/runtimes/ruby/ruby_layout.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxRubyFrames = 4096;         // steps of one walk
inline constexpr std::uint64_t kMaxRubyStack = 1 << 24;  // words of a stack of the machine

enum class RubyWalkEnd : std::uint8_t {
  kRoot,        // the outermost frame of the thread or fiber
  kCut,         // kMaxRubyFrames
  kUnreadable,  // a frame cannot be read, or too many pages were asked about
  kInvalid,     // what should be a frame is none
};

// The first fields of rb_execution_context_t: frames grow down from the end of the stack.
struct RubyContext {
  std::uint64_t stack;
  std::uint64_t stack_words;
  std::uint64_t frame;  // the innermost
};

// Of its stack, the address of the outermost frame, which is none of the program's.
constexpr std::uint64_t root_of(const RubyContext& context, std::uint64_t frame_bytes) noexcept {
  return context.stack + context.stack_words * 8 - frame_bytes;
}
constexpr bool is_ruby_context(const RubyContext& context, std::uint64_t frame_bytes) noexcept {
  const std::uint64_t root = root_of(context, frame_bytes);
  return context.stack % 8 == 0 && context.stack_words <= kMaxRubyStack &&
         context.frame >= context.stack && context.frame <= root &&
         (root - context.frame) % frame_bytes == 0;
}

// The first fields of rb_control_frame_t.
struct RubyFrame {
  std::uint64_t pc;  // 0: no Ruby code, as in functions of C; innermost compiled ones: anything
  std::uint64_t sp;
  std::uint64_t code;
  std::uint64_t self;
  std::uint64_t environment;  // its first word has the frame's flags
};

// rb_iseq_t: a piece of code, a collected object.
struct RubyCode {
  std::uint64_t flags;
  std::uint64_t wrapper;
  std::uint64_t body;
};

// The first fields of rb_iseq_constant_body, which belongs to the code and is freed with it.
struct RubyCodeBody {
  std::uint32_t type;
  std::uint32_t size;
  std::uint64_t instructions;
  std::array<std::uint64_t, 6> parameters;
  std::uint64_t path;
  std::uint64_t base_label;
  std::uint64_t label;
  std::uint64_t first_line;  // an object, or an int and something else
};
static_assert(sizeof(RubyCodeBody) == 96);

constexpr bool is_ruby_code(std::uint64_t flags) noexcept {
  constexpr std::uint64_t kInternal = 0x1a;  // T_IMEMO, of the 5 bits of a type …
  constexpr std::uint64_t kCode = 7;         // … and imemo_iseq
  return (flags & 0x1f) == kInternal && (flags >> 12 & 0xf) == kCode;
}

// False: no code is there.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_ruby_code(Reader& reader, std::uint64_t address,
                                      RubyCodeBody& out) noexcept {
  RubyCode code;
  return address != 0 && address % 8 == 0 && reader.read_value(address, code) &&
         is_ruby_code(code.flags) && code.body % 8 == 0 && reader.read_value(code.body, out);
}

// The first fields of rb_callable_method_entry_t, which belongs to the method and is collected.
struct RubyMethod {
  std::uint64_t flags;
  std::uint64_t defined_class;
  std::uint64_t definition;
  std::uint64_t name;   // ID: a number, which stays the same
  std::uint64_t owner;  // the class that has the method
};
constexpr bool is_ruby_method(std::uint64_t flags) noexcept {
  constexpr std::uint64_t kInternal = 0x1a;
  constexpr std::uint64_t kMethod = 6;  // imemo_ment
  return (flags & 0x1f) == kInternal && (flags >> 12 & 0xf) == kMethod;
}

// What code hardly shares with later code at its address.
constexpr std::uint64_t fingerprint_of(const RubyCodeBody& body) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  std::uint64_t value = body.instructions;
  for (const std::uint64_t part :
       {body.path, body.label, body.first_line, std::uint64_t{body.size}}) {
    value = value * kOdd ^ part;
  }
  return value;
}

// The execution context of the thread with that thread pointer, from its own variable; 0: none.
// 2.7: only while it holds the lock of the interpreter.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t find_ruby_context(const RubyRuntime& ruby, Reader& reader,
                                                  std::uint64_t thread_pointer) noexcept {
  constexpr std::uint64_t kContextThread = 56;  // 2.7: thread_ptr, and rb_thread_t.thread_id
  constexpr std::uint64_t kThreadId = 72;
  std::uint64_t context = 0;
  std::uint64_t at = 0;
  if (ruby.current_context != 0) {
    std::uint64_t thread = 0;
    std::uint64_t id = 0;
    const bool is_own = reader.read_value(ruby.current_context, context) && context != 0 &&
                        reader.read_value(context + kContextThread, thread) &&
                        reader.read_value(thread + kThreadId, id) &&
                        id == thread_pointer + ruby.pthread_offset;
    return is_own ? context : 0;
  }
  const bool is_read = reader.read_value(thread_pointer + unwind::kTlsVectorAt, at) &&
                       reader.read_value(at + std::uint64_t{16} * ruby.tls_module, at) &&
                       reader.read_value(at + ruby.tls_offset, context);
  return is_read ? context : 0;
}

// Whether a frame may be one of compiled code (YJIT), which stores its pc only where it calls: of
// the innermost frame it may never have been written.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool is_compiled_ruby(const RubyLayout& layout, Reader& reader,
                                        std::uint64_t frame) noexcept {
  std::uint64_t address = 0;  // rb_control_frame_t.jit_return
  return layout.has_compiled_frames && reader.read_value(frame + layout.frame_bytes - 8, address) &&
         address != 0;
}

// kOther: none of a function.
enum class RubyFrameKind : std::uint8_t { kFunction, kOther, kInvalid };

// Of a method that is written in C: its name and its class are its token.
template <typename Reader>
SWIPR_SIGNAL_SAFE RubyFrameKind read_built_in_ruby_frame(Reader& reader, const RubyFrame& frame,
                                                         Token& out) noexcept {
  constexpr std::uint64_t kKinds = 0x7fff'0001;     // VM_FRAME_MAGIC_MASK
  constexpr std::uint64_t kOfMethod = 0x5555'0001;  // VM_FRAME_MAGIC_CFUNC
  struct {
    std::uint64_t method;
    std::uint64_t block;
    std::uint64_t flags;
  } environment;
  RubyMethod method;
  const bool is_method = reader.read_value(frame.environment - 16, environment) &&
                         (environment.flags & kKinds) == kOfMethod && environment.method % 8 == 0 &&
                         reader.read_value(environment.method, method) &&
                         is_ruby_method(method.flags);
  if (!is_method) return RubyFrameKind::kOther;
  out = {.code = method.name,
         .fingerprint = method.owner,
         .kind = TokenKind::kRuby,
         .flags = kTokenBuiltIn};
  return RubyFrameKind::kFunction;
}

// `is_compiled`: its pc means nothing.
template <typename Reader>
SWIPR_SIGNAL_SAFE RubyFrameKind read_ruby_frame(const RubyRuntime& ruby, Reader& reader,
                                                const RubyFrame& frame, bool is_compiled,
                                                Token& out) noexcept {
  constexpr std::uint64_t kFirstOfLoop = 0x20;  // VM_FRAME_FLAG_FINISH …
  constexpr std::uint64_t kNative = 0x80;       // … and VM_FRAME_FLAG_CFRAME
  std::uint64_t flags = 0;
  RubyCodeBody body;
  if ((frame.pc == 0 && !is_compiled) || frame.code == 0) {
    return ruby.names == 0 ? RubyFrameKind::kOther : read_built_in_ruby_frame(reader, frame, out);
  }
  if (!reader.read_value(frame.environment, flags)) return RubyFrameKind::kInvalid;
  if ((flags & kNative) != 0) return RubyFrameKind::kOther;
  if (!read_ruby_code(reader, frame.code, body)) return RubyFrameKind::kInvalid;
  const std::uint64_t position = (frame.pc - body.instructions) / 8;  // of the next instruction
  out = {.code = frame.code, .fingerprint = fingerprint_of(body), .kind = TokenKind::kRuby};
  if (!is_compiled && position <= body.size) {
    out.position = static_cast<std::uint32_t>(position == 0 ? 0 : position - 1);
  }
  if ((flags & kFirstOfLoop) != 0) out.flags = kTokenEndsLoop;
  return RubyFrameKind::kFunction;
}

// Fills `tokens` with the frames of an execution context, which may be any number. A thread that
// collects garbage has a token kCollector as its innermost.
template <typename Reader>
SWIPR_SIGNAL_SAFE RubyWalkEnd walk_ruby(const RubyRuntime& ruby, Reader& reader,
                                        std::uint64_t context_address,
                                        TokenBuffer& tokens) noexcept {
  const std::uint64_t frame_bytes = ruby.layout.frame_bytes;
  RubyContext context;
  RubyWalkEnd end = RubyWalkEnd::kCut;
  tokens.clear();
  if (context_address % 8 != 0 || !reader.read_value(context_address, context)) {
    return RubyWalkEnd::kUnreadable;
  }
  if (!is_ruby_context(context, frame_bytes)) return RubyWalkEnd::kInvalid;
  if (is_ruby_collecting(ruby, reader, context_address)) {
    tokens.add({.kind = TokenKind::kCollector});
  }
  const std::uint64_t root = root_of(context, frame_bytes);
  std::uint64_t address = context.frame;
  for (unsigned step = 0; step < kMaxRubyFrames; ++step, address += frame_bytes) {
    RubyFrame frame;
    Token token;
    if (address == root) {
      end = RubyWalkEnd::kRoot;
      break;
    }
    if (!reader.read_value(address, frame)) {
      end = RubyWalkEnd::kUnreadable;
      break;
    }
    const bool is_compiled = step == 0 && is_compiled_ruby(ruby.layout, reader, address);
    const RubyFrameKind kind = read_ruby_frame(ruby, reader, frame, is_compiled, token);
    if (kind == RubyFrameKind::kInvalid) {
      end = RubyWalkEnd::kInvalid;
      break;
    }
    if (kind == RubyFrameKind::kFunction) tokens.add(token);
  }
  tokens.finish(end == RubyWalkEnd::kRoot);
  return end;
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template RubyWalkEnd walk_ruby(const RubyRuntime&, ProbedObjects&, std::uint64_t,
                                      TokenBuffer&) noexcept;
extern template RubyWalkEnd walk_ruby(const RubyRuntime&, ObjectPieces&, std::uint64_t,
                                      TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
