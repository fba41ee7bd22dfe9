// Python frames of one thread as tokens, its thread state, and the GIL. Everything that is read may
// be garbage: a thread is interrupted anywhere, and from outside it may be running meanwhile. Hence
// each frame's code object is checked, and every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: see the constants; stack about 200 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/runtimes/python/python_threads.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxPythonFrames = 4096;            // steps of one walk
inline constexpr std::uint64_t kMaxPythonBytecode = 1 << 24;  // bytes of one function

enum class PythonWalkEnd : std::uint8_t {
  kRoot,        // the thread's outermost frame; no tokens: it runs no Python
  kCut,         // kMaxPythonFrames
  kUnreadable,  // a frame cannot be read, or too many pages were asked about
  kInvalid,     // what should be a frame is none
};

struct PythonGil {
  Range<std::uint64_t> memory;  // of its structure: threads that wait for it wait on a futex in it
  std::uint64_t holder = 0;     // thread state of the last holder
  bool is_locked = false;       // false: the last holder has released it
};
inline constexpr std::uint64_t kPythonGilBytes = 208;

// The GIL of the thread state's interpreter. False: unreadable.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_python_gil(const PythonRuntime& python, Reader& reader,
                                       std::uint64_t thread_state, PythonGil& out) noexcept {
  const PythonLayout& layout = python.layout;
  std::uint64_t gil = python.runtime + layout.runtime_gil;
  std::uint64_t interpreter = 0;
  if (layout.runtime_gil == 0 &&
      (!reader.read_value(thread_state + kPythonThreadInterpreter, interpreter) ||
       !reader.read_value(interpreter + layout.interpreter_gil, gil))) {
    return false;
  }
  constexpr std::uint64_t kHolder = 8;
  constexpr std::uint64_t kLocked = 16;
  std::uint32_t locked = 0;
  if (!reader.read_value(gil + kHolder, out.holder) || !reader.read_value(gil + kLocked, locked)) {
    return false;
  }
  out.memory = {gil, gil + kPythonGilBytes};
  out.is_locked = locked == 1;
  return true;
}

// Whether the thread with that state collects garbage. It holds the GIL all the time, unless a
// finalizer releases it.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool is_python_collecting(const PythonRuntime& python, Reader& reader,
                                            std::uint64_t thread_state) noexcept {
  const PythonLayout& layout = python.layout;
  std::uint64_t at = python.runtime + layout.runtime_collecting;
  if (layout.runtime_collecting == 0) {
    if (!reader.read_value(thread_state + kPythonThreadInterpreter, at)) return false;
    at += layout.interpreter_collecting;
  }
  std::uint32_t collecting = 0;
  if (!reader.read_value(at, collecting) || collecting != 1) return false;
  PythonGil gil;
  return read_python_gil(python, reader, thread_state, gil) && gil.is_locked &&
         gil.holder == thread_state;
}

// A part of an object, read at once: a question about its page for all fields.
template <std::size_t kBytes>
struct PythonObjectPart {
  std::array<std::byte, kBytes> bytes;

  // Beyond the part: zero. Layouts come from the process too.
  template <typename T>
  T at(std::uint32_t offset) const noexcept {
    T value{};
    if (offset <= kBytes - sizeof value) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
};

// Whether the first word of an object is a reference count. Of a freed object it is the address of
// the next free block, or zero; everything else may still be as it was. 3.12+: other bits have
// other uses, but those of an address are zero.
constexpr bool is_python_object_alive(std::uint64_t first_word) noexcept {
  return first_word != 0 && (first_word >> 32 & 0xffff) == 0;
}

// What a code object hardly shares with a later one at its address. False: no code object is there.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_python_fingerprint(const PythonRuntime& python, Reader& reader,
                                               std::uint64_t code, std::uint64_t& out) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const PythonLayout& layout = python.layout;
  PythonObjectPart<128> part;
  if (code == 0 || code % 8 != 0 || !reader.read_value(code, part) ||
      !is_python_object_alive(part.template at<std::uint64_t>(0)) ||
      part.template at<std::uint64_t>(kPythonObjectType) != python.code_type) {
    return false;
  }
  out = part.template at<std::uint64_t>(layout.code_name);
  out = out * kOdd ^ part.template at<std::uint64_t>(layout.code_file);
  out = out * kOdd ^ part.template at<std::uint64_t>(layout.code_constants);
  out = out * kOdd ^ part.template at<std::uint32_t>(layout.code_first_line);
  if (layout.code_version == 0) return true;
  out = out * kOdd ^ part.template at<std::uint32_t>(layout.code_version);
  return true;
}

// Bytes from the start of a function's bytecode, of the position as it stands in a frame.
SWIPR_SIGNAL_SAFE constexpr std::uint32_t python_position(const PythonLayout& layout,
                                                          std::uint64_t code,
                                                          std::uint64_t position) noexcept {
  if (layout.frames == PythonFrameStyle::kObjects) {
    position *= layout.lines == PythonLineFormat::kPairs ? 2 : 1;  // −1, the unsigned: not begun
  } else {
    position -= code + layout.code_bytecode;
  }
  return position < kMaxPythonBytecode ? static_cast<std::uint32_t>(position) : kNoPosition;
}

template <typename Reader>
class PythonWalk {
 public:
  PythonWalk(const PythonRuntime& python, Reader& reader, TokenBuffer& tokens) noexcept
      : python_(python), layout_(python.layout), reader_(reader), tokens_(tokens) {}

  PythonWalkEnd run(const PythonThreadStates& states) noexcept {
    tokens_.clear();
    if (is_python_collecting(python_, reader_, states.first())) {
      tokens_.add({.kind = TokenKind::kCollector});
    }
    PythonWalkEnd end = PythonWalkEnd::kRoot;
    for (const std::uint64_t state : states.all) {
      if (state == 0 || end != PythonWalkEnd::kRoot) break;
      begin_ = tokens_.added();
      loop_has_token_ = false;
      cframe_ = expected_outer_ = 0;
      is_first_loop_ = false;
      end = walk(state);
    }
    tokens_.finish(end == PythonWalkEnd::kRoot);
    return end;
  }

 private:
  struct Frame {
    std::uint64_t address = 0;
    std::uint64_t previous = 0;
    std::uint64_t code = 0;
    std::uint64_t position = 0;  // as it stands in the frame
    std::uint8_t owner = 0;
    std::uint8_t is_entry = 0;
  };
  // enum _frameowner. Shims are owned by the C stack, or by the interpreter.
  static constexpr std::uint8_t kOwnedByGenerator = 1;
  static constexpr std::uint8_t kFirstShim = 3;
  static constexpr std::uint8_t kLastShim = 4;

  PythonWalkEnd walk(std::uint64_t thread_state) noexcept {
    std::uint64_t frame = 0;
    if (!reader_.read_value(thread_state + layout_.thread_frame, frame)) {
      return PythonWalkEnd::kUnreadable;
    }
    if (layout_.cframe_previous == 0) return follow(frame);
    // A loop links its C frame before that has a frame: what is there may be garbage, also frames
    // that have ended. Then the walk begins with the loop around it.
    cframe_ = frame;
    std::uint64_t outer = 0;
    if (!reader_.read_value(cframe_ + layout_.cframe_previous, outer)) {
      return PythonWalkEnd::kUnreadable;
    }
    if (outer != 0 && !reader_.read_value(outer + layout_.cframe_frame, expected_outer_)) {
      return PythonWalkEnd::kUnreadable;
    }
    is_first_loop_ = outer != 0;
    if (reader_.read_value(cframe_ + layout_.cframe_frame, frame)) {
      const PythonWalkEnd end = follow(frame);
      if (!is_first_loop_ || tokens_.added() >= TokenBuffer::kKeptInner) return end;
      is_first_loop_ = false;
    }
    if (outer == 0) return PythonWalkEnd::kUnreadable;
    tokens_.shorten(begin_);
    loop_has_token_ = false;
    cframe_ = outer;
    return follow(expected_outer_);
  }

  // is_first_loop_ afterwards: the innermost loop's frames were none.
  PythonWalkEnd follow(std::uint64_t address) noexcept {
    for (unsigned step = 0; step < kMaxPythonFrames; ++step) {
      if (address == 0) return PythonWalkEnd::kRoot;
      Frame frame{.address = address};
      if (!read_frame(frame)) return PythonWalkEnd::kUnreadable;
      bool ends_loop = layout_.frames == PythonFrameStyle::kObjects || frame.is_entry != 0;
      if (is_shim(frame)) {
        ends_loop = true;
      } else if (!add(frame)) {
        return PythonWalkEnd::kInvalid;
      }
      if (ends_loop && !end_loop(frame)) return PythonWalkEnd::kInvalid;
      address = frame.previous;
    }
    return PythonWalkEnd::kCut;
  }

  bool read_frame(Frame& frame) noexcept {
    if (frame.address % 8 != 0) return false;
    if (layout_.frames == PythonFrameStyle::kObjects) {
      PythonObjectPart<112> part;
      if (!reader_.read_value(frame.address, part)) return false;
      read_links(part, frame);
      frame.position = part.template at<std::uint32_t>(layout_.frame_position);
      return true;
    }
    PythonObjectPart<76> part;
    if (!reader_.read_value(frame.address, part)) return false;
    read_links(part, frame);
    frame.position = part.template at<std::uint64_t>(layout_.frame_position);
    frame.owner = part.template at<std::uint8_t>(layout_.frame_owner);
    if (layout_.frame_is_entry != 0) {
      frame.is_entry = part.template at<std::uint8_t>(layout_.frame_is_entry);
    }
    return true;
  }
  template <typename Part>
  void read_links(const Part& part, Frame& frame) const noexcept {
    frame.code = part.template at<std::uint64_t>(layout_.frame_code) & ~std::uint64_t{3};
    frame.previous = part.template at<std::uint64_t>(layout_.frame_previous);
  }

  bool is_shim(const Frame& frame) const noexcept {
    return layout_.frames == PythonFrameStyle::kShims && frame.owner >= kFirstShim &&
           frame.owner <= kLastShim;
  }

  // False: it is no frame.
  bool add(const Frame& frame) noexcept {
    Token token{.code = frame.code};
    if (frame.owner >= kFirstShim ||
        !read_python_fingerprint(python_, reader_, frame.code, token.fingerprint)) {
      return false;
    }
    token.position = python_position(layout_, frame.code, frame.position);
    if (!has_begun(frame, token.position)) return true;
    tokens_.add(token);
    loop_has_token_ = true;
    return true;
  }

  // Python itself shows no frame that has not reached its first traceable instruction, and some
  // never do (that of the code that calls __init__).
  bool has_begun(const Frame& frame, std::uint32_t position) noexcept {
    if (layout_.code_first_traceable == 0 || frame.owner == kOwnedByGenerator) return true;
    std::uint32_t first = 0;
    return reader_.read_value(frame.code + layout_.code_first_traceable, first) &&
           position != kNoPosition && position / 2 >= first;
  }

  // `frame`: the outermost of its loop, or the shim beyond it. False: the innermost loop is not the
  // one that the C frames tell of.
  bool end_loop(const Frame& frame) noexcept {
    if (is_first_loop_ && frame.previous != expected_outer_) return false;
    is_first_loop_ = false;
    const std::uint64_t mark = layout_.frames == PythonFrameStyle::kShims     ? frame.address
                               : layout_.frames == PythonFrameStyle::kFlagged ? cframe_
                                                                              : 0;
    if (loop_has_token_) {
      Token& token = *tokens_.last();
      token.flags = kTokenEndsLoop;
      token.mark = mark;
    }
    loop_has_token_ = false;
    // The outermost C frame is no loop's. It is not on the stack, and no loop ends with it.
    if (cframe_ != 0 && !reader_.read_value(cframe_ + layout_.cframe_previous, cframe_)) {
      cframe_ = 0;
    }
    return true;
  }

  const PythonRuntime& python_;
  const PythonLayout& layout_;
  Reader& reader_;
  TokenBuffer& tokens_;
  std::uint32_t begin_ = 0;           // tokens of the states before
  std::uint64_t cframe_ = 0;          // of the loop that is walked; 0: there is none
  std::uint64_t expected_outer_ = 0;  // the frame that follows the innermost loop's
  bool is_first_loop_ = false;        // … whose frames are not proven yet
  bool loop_has_token_ = false;
};

// Fills `tokens` with the frames of thread states that is_python_thread has confirmed. A thread
// that collects garbage has a token kCollector as its innermost.
template <typename Reader>
SWIPR_SIGNAL_SAFE PythonWalkEnd walk_python(const PythonRuntime& python, Reader& reader,
                                            const PythonThreadStates& states,
                                            TokenBuffer& tokens) noexcept {
  return PythonWalk<Reader>(python, reader, tokens).run(states);
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template PythonWalkEnd walk_python(const PythonRuntime&, ProbedObjects&,
                                          const PythonThreadStates&, TokenBuffer&) noexcept;
extern template PythonWalkEnd walk_python(const PythonRuntime&, ObjectPieces&,
                                          const PythonThreadStates&, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
