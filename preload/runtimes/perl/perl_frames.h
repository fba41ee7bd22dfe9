// Frames of Perl as tokens. Its calls are an array of contexts, of which only some are frames, and
// which begins anew where C calls Perl (a stack of such arrays). Each context has the statement
// that ran when it began: the line of its caller. Everything that is read may be garbage: the
// thread is interrupted anywhere, and from outside it may be running meanwhile. Hence every loop is
// counted.
//
// Closures are copies of their function, so a token has the addresses of names (packed_names.h):
// name and package are objects, the file is a text. Its position is the line that runs.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.  Bounds:
// kMaxPerlContexts; up to 16 small reads for each frame.
// Source: cop.h, op.h, cv.h, gv.h, hv.h, sv.h, 5.32 to 5.42.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/runtime_frame.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/packed_names.h"
#include "preload/runtimes/perl/perl_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxPerlContexts = 8192;  // blocks and loops are contexts, too
inline constexpr unsigned kMaxPerlStacks = 1024;

// struct sv; its body depends on its type.
struct PerlObject {
  std::uint64_t body;
  std::uint32_t references;
  std::uint32_t flags;
  std::uint64_t head;

  std::uint8_t type() const noexcept { return static_cast<std::uint8_t>(flags); }
};
enum PerlType : std::uint8_t { kPerlGlob = 9, kPerlHash = 12, kPerlCode = 13, kPerlFormat = 14 };

// The head of a name (struct hek). Its text follows, and behind its NUL a byte of flags.
struct PerlNameHead {
  std::uint32_t hash;
  std::int32_t bytes;
};
inline constexpr std::uint64_t kPerlNameText = 8;
inline constexpr std::int32_t kMaxPerlName = 4096;

// No addresses. Names of blocks that are run by a loop of their own: of sort, and in a regular
// expression. The file of code that was a text: its own name, as "(eval 12)", is gone with it.
inline constexpr std::uint64_t kPerlSortBlock = 8;
inline constexpr std::uint64_t kPerlRegexBlock = 16;
inline constexpr std::uint64_t kPerlEvaluation = 8;

// Words of a file's name that go into its hash; it lies in whole words.
inline constexpr unsigned kHashedPerlWords = 8;

// Of the name, whose own hash Perl keeps, and of the beginning of the file's name. False:
// unreadable.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool hash_perl_names(Reader& reader, const PackedNames& names,
                                       std::uint64_t& hash) noexcept {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  hash = mix_hash(names.first_line, 0);
  if (names.name > kPerlRegexBlock) {
    PerlNameHead head{};
    if (!reader.read_value(names.name, head) || head.bytes < 0 || head.bytes > kMaxPerlName) {
      return false;
    }
    hash = mix_hash(hash, std::uint64_t{head.hash} << 32 | static_cast<std::uint32_t>(head.bytes));
  }
  if (names.file == kPerlEvaluation) return true;
  for (unsigned at = 0; at < kHashedPerlWords; ++at) {
    std::uint64_t word = 0;
    if (!reader.read_value(names.file + at * sizeof word, word)) return false;
    const std::uint64_t ends = (word - kOnes) & ~word & kOnes << 7;  // its lowest bit: of the NUL
    if (ends != 0) {
      hash = mix_hash(hash, word & (ends ^ (ends - 1)) >> 8);
      return true;
    }
    hash = mix_hash(hash, word);
  }
  return true;
}

// Where the text of a file's name is, NUL-terminated. As the name of a glob it begins with "_<".
constexpr std::uint64_t perl_file_text(const PerlLayout& layout, std::uint64_t file) noexcept {
  return layout.has_file_globs ? file + kPerlNameText + 2 : file;
}

// A statement (struct cop).
struct PerlStatement {
  bool is_run = false;     // else it stands for the place that is compiled
  std::uint64_t code = 0;  // of the operation
  std::uint32_t line = 0;
  std::uint64_t file = 0;  // a text, or a glob
};

template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_perl_statement(Reader& reader, std::uint64_t address,
                                           PerlStatement& out) noexcept {
  std::array<std::uint64_t, 7> words{};
  if (address == 0 || address % 8 != 0 || !reader.read_value(address, words)) return false;
  // Operations that are not run have no next one, or are their own.
  out = {.is_run = words[0] != 0 && words[0] != address,
         .code = words[2],
         .line = static_cast<std::uint32_t>(words[4] >> 32),
         .file = words[6]};
  if (out.line > kMaxRuntimeLine) out.line = 0;
  return true;
}

template <typename Reader>
class PerlWalk {
 public:
  PerlWalk(const PerlRuntime& perl, Reader& reader, std::uint64_t interpreter,
           TokenBuffer& tokens) noexcept
      : perl_(perl), reader_(reader), interpreter_(interpreter), tokens_(tokens) {}

  SWIPR_SIGNAL_SAFE void run() noexcept {
    tokens_.clear();
    tokens_.finish(walk());
  }

 private:
  // Words of struct context.
  static constexpr unsigned kContextWords = 13;
  static constexpr unsigned kBlockType = 0;  // the lowest byte
  static constexpr unsigned kCaller = 2;
  static constexpr unsigned kReturn = 6;  // 0: the loop ends
  static constexpr unsigned kCode = 9;
  // The type: of the context, and what kind of evaluation it is.
  enum : std::uint8_t { kTypeBits = 15, kCall = 9, kFormat = 10, kEvaluation = 11 };
  static constexpr std::uint8_t kIsBlock = 0x40 | 0x80;  // eval BLOCK, try: no frames
  static constexpr std::uint8_t kIsRegex = 0x80;         // code of the function that matches
  using Context = std::array<std::uint64_t, kContextWords>;

  struct Stack {  // PERL_SI, from si_cxstack on
    std::uint64_t contexts;
    std::uint64_t previous;
    std::uint64_t next;
    std::int32_t last;
    std::int32_t capacity;
    std::int32_t reserved;
    std::int32_t type;
  };
  static constexpr std::int32_t kSort = 3;  // PERLSI_SORT

  bool walk() noexcept {
    std::uint64_t stack = 0;
    if (!reader_.read_value(interpreter_ + perl_.layout.statement, statement_) ||
        !reader_.read_value(interpreter_ + perl_.layout.context, stack)) {
      return false;
    }
    for (unsigned count = 0; stack != 0; ++count) {
      if (count == kMaxPerlStacks || !take_stack(stack)) return false;
    }
    return add_main_file();
  }

  // On return `address` is that of the next outer stack.
  bool take_stack(std::uint64_t& address) noexcept {
    constexpr std::uint64_t kContexts = 8;
    constexpr std::int32_t kMost = 1 << 24;
    Stack stack{};
    if (address % 8 != 0 || !reader_.read_value(address + kContexts, stack) || stack.last > kMost) {
      return false;
    }
    for (std::int32_t at = stack.last; at >= 0; --at) {
      Context context{};
      if (contexts_++ == kMaxPerlContexts ||
          !reader_.read_value(stack.contexts + static_cast<std::uint64_t>(at) * sizeof context,
                              context) ||
          !take_context(context, stack.type == kSort && at == 0)) {
        return false;
      }
    }
    address = stack.previous;
    return true;
  }

  bool take_context(const Context& context, bool is_sort) noexcept {
    const auto type = static_cast<std::uint8_t>(context[kBlockType]);
    const std::uint8_t kind = type & kTypeBits;
    const std::uint8_t flags = context[kReturn] == 0 ? kTokenEndsLoop : 0;
    bool is_added = false;
    if (kind == kCall && (type & kIsRegex) != 0) {
      is_added = add_block(kPerlRegexBlock);
    } else if (kind == kCall || kind == kFormat) {
      is_added = add_call(context[kCode], flags);
    } else if (kind == kEvaluation && (type & kIsBlock) == 0) {
      is_added = add_file(flags);
    } else if (is_sort) {
      is_added = add_block(kPerlSortBlock);
    } else {
      return true;
    }
    statement_ = context[kCaller];
    return is_added;
  }

  // What is packed as the name of a statement's file.
  std::uint64_t file_of(const PerlStatement& statement) noexcept {
    return perl_.layout.has_file_globs ? names_of_glob(statement.file).name : statement.file;
  }

  // Of the statement that runs.
  bool add_file(std::uint8_t flags) noexcept {
    PerlStatement statement;
    return read_perl_statement(reader_, statement_, statement) && add_file(statement, flags);
  }
  bool add_file(const PerlStatement& statement, std::uint8_t flags) noexcept {
    return add({.file = file_of(statement)}, statement.line, flags);
  }
  // A file that is being compiled, or has ended, has no loop that its frame could replace.
  bool add_main_file() noexcept {
    PerlStatement statement;
    return read_perl_statement(reader_, statement_, statement) &&
           (!statement.is_run || add_file(statement, kTokenEndsLoop));
  }
  bool add_block(std::uint64_t name) noexcept {
    PerlStatement statement;
    return read_perl_statement(reader_, statement_, statement) &&
           add({.name = name, .file = file_of(statement)}, statement.line, kTokenEndsLoop);
  }

  bool add_call(std::uint64_t code, std::uint8_t flags) noexcept {
    constexpr std::uint64_t kBody = 32;  // from xcv_stash on
    enum : unsigned { kPackage = 0, kStart = 1, kName = 3, kFlags = 7, kWords };
    constexpr std::uint64_t kIsNamed = 0x8000;  // CvNAMED, in the upper half
    PerlObject object{};
    std::array<std::uint64_t, kWords> body{};
    PerlStatement running;
    PerlStatement first;
    if (code % 8 != 0 || !reader_.read_value(code, object) ||
        (object.type() != kPerlCode && object.type() != kPerlFormat) ||
        !reader_.read_value(object.body + kBody, body) ||
        !read_perl_statement(reader_, statement_, running)) {
      return false;
    }
    PackedNames names{.name = body[kName], .class_name = body[kPackage]};
    if ((body[kFlags] >> 32 & kIsNamed) == 0) names = names_of_glob(body[kName]);
    if (read_perl_statement(reader_, body[kStart], first) && first.code == perl_.next_statement) {
      names.file = file_of(first);
      names.first_line = first.line;
    } else {
      names.file = file_of(running);
    }
    return add(names, running.line, flags);
  }

  // Of code whose name has been removed: none.
  PackedNames names_of_glob(std::uint64_t address) noexcept {
    constexpr std::uint64_t kName = 32;  // xivu_namehek, then xgv_stash
    PerlObject glob{};
    std::array<std::uint64_t, 2> words{};
    const bool is_glob = address != 0 && address % 8 == 0 && reader_.read_value(address, glob) &&
                         glob.type() == kPerlGlob && reader_.read_value(glob.body + kName, words);
    return is_glob ? PackedNames{.name = words[0], .class_name = words[1]} : PackedNames{};
  }

  bool add(PackedNames names, std::uint32_t line, std::uint8_t flags) noexcept {
    constexpr std::array<char, 6> kBegin = {'(', 'e', 'v', 'a', 'l', ' '};
    Token token{.position = line, .kind = TokenKind::kPerl, .flags = flags};
    std::array<char, kBegin.size()> begin{};
    std::uint64_t hash = 0;
    if (!reader_.read_value(perl_file_text(perl_.layout, names.file), begin)) return false;
    if (begin == kBegin) names.file = kPerlEvaluation;
    if (!hash_perl_names(reader_, names, hash) || !pack_names(names, hash, token)) return false;
    tokens_.add(token);
    return true;
  }

  const PerlRuntime& perl_;
  Reader& reader_;
  std::uint64_t interpreter_;
  TokenBuffer& tokens_;
  std::uint64_t statement_ = 0;  // that runs in the next frame
  unsigned contexts_ = 0;
};

// The interpreter of the thread with that thread pointer; 0: it has none.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t find_perl_interpreter(const PerlRuntime& perl, Reader& reader,
                                                      std::uint64_t thread_pointer) noexcept {
  std::uint64_t interpreter = 0;
  if (perl.only_thread != 0) return thread_pointer == perl.only_thread ? perl.first_interpreter : 0;
  const bool is_read = reader.read_value(
      thread_pointer + static_cast<std::uint64_t>(perl.interpreter_at), interpreter);
  return is_read && interpreter % 8 == 0 ? interpreter : 0;
}

// Fills `tokens` with the frames of Perl.
template <typename Reader>
SWIPR_SIGNAL_SAFE void walk_perl(const PerlRuntime& perl, Reader& reader, std::uint64_t interpreter,
                                 TokenBuffer& tokens) noexcept {
  PerlWalk<Reader>(perl, reader, interpreter, tokens).run();
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template void walk_perl(const PerlRuntime&, ProbedObjects&, std::uint64_t,
                               TokenBuffer&) noexcept;
extern template void walk_perl(const PerlRuntime&, ObjectPieces&, std::uint64_t,
                               TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
