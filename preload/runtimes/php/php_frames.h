// Frames of PHP as tokens. Its frames are a list, from the innermost to the script itself, which
// begins at a variable of the interpreter. Only the main thread runs PHP (builds that are not
// thread-safe). Everything that is read may be garbage: the thread is interrupted anywhere, and
// from outside it may be running meanwhile. Hence every loop is counted.
//
// Each closure has a copy of its function, and is gone when it has run. So a token does not have
// the address of a function but those of its names (PackedNames), its position is the line that
// runs, and its fingerprint is made of the hashes that PHP keeps in texts: who reads a name later
// computes its hash again.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (of the main thread) or control thread.  Allocates: never.  Errno: kept.
// Bounds: kMaxPhpFrames; about 10 small reads for each frame, kMaxHashedPhpText.
// Source: Zend/zend_compile.h, zend_vm_execute.h, zend_string.h, 7.4 to 8.4.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/runtime_frame.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/packed_names.h"
#include "preload/runtimes/php/php_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxPhpFrames = 4096;

// The interrupted thread's registers (interpreter_registers.h), with which interpreters that gcc
// has compiled run: the frame's own position is as old as its last call. Zeros: unknown.
struct PhpRegisters {
  std::uint64_t frame = 0;
  std::uint64_t instruction = 0;
};

struct PhpFunction {  // zend_function
  bool is_built_in = false;
  PackedNames names;
};

template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_php_fields(const PhpRuntime& php, Reader& reader, std::uint64_t address,
                                       PhpFunction& out) noexcept {
  struct Common {
    std::uint8_t type;
    std::uint8_t flags[7];
    std::uint64_t name;
    std::uint64_t scope;
  };
  struct Place {
    std::uint64_t file;
    std::uint32_t first_line;
  };
  constexpr std::uint8_t kBuiltIn = 1;
  constexpr std::uint8_t kUser = 2;
  constexpr std::uint8_t kEvaluated = 4;
  constexpr std::uint64_t kClassName = 8;
  Common common{};
  Place place{};
  if (address % 8 != 0 || !reader.read_value(address, common)) return false;
  PackedNames& names = out.names;
  out.is_built_in = common.type == kBuiltIn;
  names = {.name = common.name};
  // Code outside functions has the class of its caller.
  if (common.scope != 0 && common.name != 0 &&
      !reader.read_value(common.scope + kClassName, names.class_name)) {
    return false;
  }
  if (out.is_built_in) return true;
  if ((common.type != kUser && common.type != kEvaluated) ||
      !reader.read_value(address + php.layout.file, place)) {
    return false;
  }
  names.file = place.file;
  names.first_line = place.first_line <= kMaxRuntimeLine ? place.first_line : 0;
  return true;
}

// zend_string, from its second word on.
struct PhpTextHead {
  std::uint64_t hash;  // 0: PHP has not needed it yet
  std::uint64_t length;
};
inline constexpr std::uint64_t kPhpTextHead = 8;
inline constexpr std::uint64_t kPhpTextBytes = 24;
inline constexpr std::uint64_t kMaxHashedPhpText = 16 << 10;  // bytes, by a walk

// The hash of PHP's texts (DJBX33A), of which none is 0.
inline constexpr std::uint64_t kPhpHashBegin = 5381;
constexpr std::uint64_t add_php_hash(std::uint64_t hash, std::uint8_t byte) noexcept {
  return hash * 33 + byte;
}
constexpr std::uint64_t end_php_hash(std::uint64_t hash) noexcept {
  return hash | std::uint64_t{1} << 63;
}

// The hashes of texts that a walk finds.
template <typename Reader>
class PhpHashes {
 public:
  explicit PhpHashes(Reader& reader) noexcept : reader_(reader) {}

  // Mixes the text's hash into `hash`. False: unreadable.
  SWIPR_SIGNAL_SAFE bool add(std::uint64_t address, std::uint64_t& hash) noexcept {
    PhpTextHead text{};
    if (address != 0) {
      if (!reader_.read_value(address + kPhpTextHead, text)) return false;
      if (text.hash == 0 && !complete(address, text)) return false;
    }
    hash = mix_hash(hash, text.hash);
    return true;
  }

 private:
  // Names of functions in a namespace have no hash before somebody looks for them. Without one a
  // name is lost.
  bool complete(std::uint64_t address, PhpTextHead& text) noexcept {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);  // of which texts have whole ones
    std::uint64_t hash = kPhpHashBegin;
    for (const Known& known : known_) {
      text.hash = known.address == address ? known.hash : text.hash;
    }
    if (text.hash != 0) return true;
    if (text.length > left_) return true;
    left_ -= text.length;
    for (std::uint64_t at = 0; at < text.length; at += kWord) {
      std::uint64_t word = 0;
      if (!reader_.read_value(address + kPhpTextBytes + at, word)) return false;
      const std::uint64_t count = text.length - at < kWord ? text.length - at : kWord;
      for (std::uint64_t i = 0; i < count; ++i, word >>= 8) {
        hash = add_php_hash(hash, static_cast<std::uint8_t>(word));
      }
    }
    text.hash = end_php_hash(hash);
    known_ = {{{address, text.hash}, known_[0]}};
    return true;
  }

  struct Known {
    std::uint64_t address = 0;
    std::uint64_t hash = 0;
  };

  Reader& reader_;
  std::uint64_t left_ = kMaxHashedPhpText;
  std::array<Known, 2> known_{};  // functions that call themselves, or each other
};

template <typename Reader>
class PhpWalk {
 public:
  PhpWalk(const PhpRuntime& php, Reader& reader, const PhpRegisters& registers,
          TokenBuffer& tokens) noexcept
      : php_(php), reader_(reader), hashes_(reader), registers_(registers), tokens_(tokens) {}

  SWIPR_SIGNAL_SAFE void run() noexcept {
    std::uint64_t address = 0;
    tokens_.clear();
    bool is_readable = reader_.read_value(php_.current_frame, address);
    for (unsigned step = 0; is_readable && address != 0 && step < kMaxPhpFrames; ++step) {
      std::array<std::uint64_t, 7> words{};
      is_readable = address % 8 == 0 && reader_.read_value(address, words) && take(address, words);
      if (is_readable) address = words[kCaller];
    }
    tokens_.finish(is_readable && address == 0);
  }

 private:
  // Words of zend_execute_data.
  static constexpr unsigned kInstruction = 0;
  static constexpr unsigned kFunction = 3;
  static constexpr unsigned kFlags = 5;  // the lower half
  static constexpr unsigned kCaller = 6;
  static constexpr std::uint64_t kFirstOfLoop = 1 << 17;  // ZEND_CALL_TOP

  bool take(std::uint64_t address, const std::array<std::uint64_t, 7>& words) noexcept {
    const std::uint64_t code = words[kFunction];
    if (code == 0) return true;  // no call: it links those of a generator, or of the engine
    PhpFunction function;
    if (!read_php_fields(php_, reader_, code, function)) return false;
    const PackedNames& names = function.names;
    if (function.is_built_in && names.name == 0) return true;  // the start of a fiber
    Token token{.kind = TokenKind::kPhp};
    std::uint64_t hash = names.first_line;
    if (!hashes_.add(names.name, hash) || !hashes_.add(names.class_name, hash) ||
        !hashes_.add(names.file, hash) || !pack_names(names, hash, token)) {
      return false;
    }
    if (function.is_built_in) {
      token.flags = kTokenBuiltIn;
    } else {
      token.position = line_of(address, code, words[kInstruction]);
      if ((words[kFlags] & kFirstOfLoop) != 0) token.flags = kTokenEndsLoop;
    }
    tokens_.add(token);
    return true;
  }

  std::uint32_t line_of(std::uint64_t frame, std::uint64_t code, std::uint64_t saved) noexcept {
    constexpr std::uint64_t kInstructionBytes = 32;  // zend_op
    constexpr std::uint64_t kLine = 24;
    std::uint32_t count = 0;
    std::uint64_t first = 0;
    std::uint32_t line = 0;
    if (!reader_.read_value(code + php_.layout.instruction_count, count) ||
        !reader_.read_value(code + php_.layout.instructions, first)) {
      return kNoPosition;
    }
    const auto is_inside = [&](std::uint64_t at) {
      return at >= first && (at - first) / kInstructionBytes < count;
    };
    const bool is_running = tokens_.added() == 0 && registers_.frame == frame;
    const std::uint64_t at =
        is_running && is_inside(registers_.instruction) ? registers_.instruction : saved;
    return is_inside(at) && reader_.read_value(at + kLine, line) ? line : kNoPosition;
  }

  const PhpRuntime& php_;
  Reader& reader_;
  PhpHashes<Reader> hashes_;
  PhpRegisters registers_;
  TokenBuffer& tokens_;
};

// Fills `tokens` with the frames of PHP.
template <typename Reader>
SWIPR_SIGNAL_SAFE void walk_php(const PhpRuntime& php, Reader& reader,
                                const PhpRegisters& registers, TokenBuffer& tokens) noexcept {
  PhpWalk<Reader>(php, reader, registers, tokens).run();
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template void walk_php(const PhpRuntime&, ProbedObjects&, const PhpRegisters&,
                              TokenBuffer&) noexcept;
extern template void walk_php(const PhpRuntime&, ObjectPieces&, const PhpRegisters&,
                              TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
