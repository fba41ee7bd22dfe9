// JavaScript frames of one thread as tokens. They alternate with native frames on one stack, and
// the native walk finds them all: V8's code has no CFI and keeps frame pointers. So no walk of
// their own is needed: after the native walk read_v8_tokens looks at each frame that was left by
// its frame pointer, and asks whether a JavaScript function lies where V8's frames have it.
//
// How the handler and the control thread use it: both have a FrameBuffer with `stacks`. After the
// walk, read_v8_tokens(v8, reader, frames, first, tokens), in the handler with ProbedObjects and
// with the interrupted thread's registers in `first`, of blocked threads with ObjectPieces and
// none. Each token is a group of its own for splice(), with the frame pointer as its mark; the
// loop's code is empty. Names and lines: read_v8_function and read_v8_line (v8_names.h), with one
// V8LineCache beside them. V8 has no states of threads: nothing is searched for or prepared.
//
// Everything that is read may be garbage: a thread is interrupted anywhere, and the garbage
// collector moves objects while it waits for other threads. Hence the function's type is checked.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: 10 small reads for each frame.
// Source: src/execution/frame-constants.h, 10.2 to 14.6.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "common/wire/format.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/runtimes/v8/v8_layout.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxV8Bytecode = 1 << 24;  // bytes of one function

// The interrupted thread's registers r12 and r9, with which V8's interpreter runs: the slots of its
// frame are as old as its last call. Zeros: unknown.
struct V8Registers {
  std::uint64_t bytecode = 0;  // a tagged pointer
  std::uint64_t position = 0;
};

constexpr std::uint64_t at_v8_offset(std::uint64_t address, std::int32_t offset) noexcept {
  return address + static_cast<std::uint64_t>(std::int64_t{offset});
}

// An object's address; 0: the word is no pointer to one.
constexpr std::uint64_t v8_object(std::uint64_t word) noexcept {
  return (word & 3) == 1 ? word - 1 : 0;
}
constexpr bool is_v8_integer(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word) == 0;
}
constexpr std::int32_t v8_integer(std::uint64_t word) noexcept {
  return static_cast<std::int32_t>(word >> 32);
}

// The instance type of the object that the word points to. False: unreadable, or no object.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_v8_type(const V8Layout& layout, Reader& reader, std::uint64_t word,
                                    std::int32_t& out) noexcept {
  const std::uint64_t object = v8_object(word);
  std::uint64_t map = 0;
  std::uint16_t type = 0;
  if (object == 0 || !reader.read_value(object, map) || v8_object(map) == 0 ||
      !reader.read_value(at_v8_offset(v8_object(map), layout.map_type), type)) {
    return false;
  }
  out = type;
  return true;
}

// What tells a function from another one at its address.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_v8_fingerprint(const V8Layout& layout, Reader& reader,
                                           std::uint64_t shared, std::uint64_t& out) noexcept {
  std::uint64_t name = 0;
  std::uint64_t script = 0;
  if (!reader.read_value(at_v8_offset(shared, layout.shared_name), name) ||
      !reader.read_value(at_v8_offset(shared, layout.shared_script), script)) {
    return false;
  }
  out = name ^ (script << 16 | script >> 48);
  return true;
}

template <typename Reader>
class V8FrameReader {
 public:
  V8FrameReader(const V8Runtime& v8, Reader& reader) noexcept
      : layout_(v8.layout), reader_(reader) {}

  // `stack`: the frame's stack pointer; what is below it is not the frame's. False: no frame of
  // JavaScript, or it cannot be read.
  SWIPR_SIGNAL_SAFE bool read(std::uint64_t frame, std::uint64_t stack, const V8Registers& first,
                              Token& token) noexcept {
    std::uint64_t context = 0;
    std::uint64_t function = 0;
    if (!read_slot(frame, stack, layout_.frame_context, context) || v8_object(context) == 0 ||
        !read_slot(frame, stack, layout_.frame_function, function) || !is_function(function)) {
      return false;
    }
    token = {};
    token.kind = TokenKind::kJavaScript;
    token.mark = frame;
    token.flags = kTokenEndsLoop;
    if (!read_pointer(function, layout_.function_shared, token.code) ||
        !read_v8_fingerprint(layout_, reader_, token.code, token.fingerprint)) {
      return false;
    }
    token.position = position_of(frame, stack, first);
    if (token.position == kNoPosition) token.flags |= kTokenCompiled;
    return true;
  }

 private:
  bool read_slot(std::uint64_t frame, std::uint64_t stack, std::int32_t offset,
                 std::uint64_t& out) noexcept {
    const std::uint64_t at = at_v8_offset(frame, offset);
    return at >= stack && reader_.read_value(at, out);
  }
  bool is_function(std::uint64_t word) noexcept {
    std::int32_t type = 0;
    return read_v8_type(layout_, reader_, word, type) && type >= layout_.first_function_type &&
           type <= layout_.last_function_type;
  }
  bool read_pointer(std::uint64_t word, std::int32_t offset, std::uint64_t& out) noexcept {
    std::uint64_t field = 0;
    if (!reader_.read_value(at_v8_offset(v8_object(word), offset), field)) return false;
    out = v8_object(field);
    return out != 0;
  }

  // Frames of the interpreter have the bytecode and the position in it. Those of its compiler
  // (Sparkplug) have the bytecode only, others neither.
  std::uint32_t position_of(std::uint64_t frame, std::uint64_t stack,
                            const V8Registers& first) noexcept {
    std::uint64_t bytecode = 0;
    std::uint64_t position = 0;
    std::int32_t type = 0;
    if (!read_slot(frame, stack, layout_.frame_position, position) || !is_v8_integer(position) ||
        !read_slot(frame, stack, layout_.frame_bytecode, bytecode) ||
        !read_v8_type(layout_, reader_, bytecode, type) || type != layout_.bytecode_type) {
      return kNoPosition;
    }
    const std::uint64_t raw = first.bytecode == bytecode
                                  ? first.position
                                  : static_cast<std::uint64_t>(v8_integer(position));
    // Counted from the tagged pointer.
    const std::uint64_t at = raw + 1 - static_cast<std::uint64_t>(layout_.bytecode_data);
    return at < kMaxV8Bytecode ? static_cast<std::uint32_t>(at) : kNoPosition;
  }

  const V8Layout& layout_;
  Reader& reader_;
};

// Fills `tokens` with the JavaScript frames among those of a walk that has filled `frames`.
template <typename Reader>
SWIPR_SIGNAL_SAFE void read_v8_tokens(const V8Runtime& v8, Reader& reader,
                                      const unwind::FrameBuffer& frames, const V8Registers& first,
                                      TokenBuffer& tokens) noexcept {
  constexpr unsigned kSource = unwind::kExactFrame - 1;
  constexpr auto kFramePointer = static_cast<unsigned>(wire::FrameSource::kFramePointer);
  constexpr std::uint64_t kSaved = 16;  // the caller's frame pointer and the return address
  V8FrameReader<Reader> reads(v8, reader);
  tokens.clear();
  for (std::uint32_t caller = 1; caller < frames.frame_count; ++caller) {
    const bool is_left = (frames.kinds[caller] & kSource) == kFramePointer;
    const bool is_behind_gap = frames.omitted_at != 0 && caller == frames.omitted_at;
    Token token;
    if (is_left && !is_behind_gap &&
        reads.read(frames.stacks[caller] - kSaved, frames.stacks[caller - 1],
                   caller == 1 ? first : V8Registers{}, token)) {
      tokens.add(token);
    }
  }
  tokens.finish((frames.flags & wire::kStackRootReached) != 0);
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template class V8FrameReader<ProbedObjects>;
extern template class V8FrameReader<ObjectPieces>;
extern template void read_v8_tokens(const V8Runtime&, ProbedObjects&, const unwind::FrameBuffer&,
                                    const V8Registers&, TokenBuffer&) noexcept;
extern template void read_v8_tokens(const V8Runtime&, ObjectPieces&, const unwind::FrameBuffer&,
                                    const V8Registers&, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
