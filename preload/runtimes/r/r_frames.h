// Frames of R as tokens. A call of a function has a context: mostly in the native frame of the
// function that runs it, from which the splice knows its place. Those of calls that the loop of
// the bytecode makes itself (since 4.5) lie elsewhere, and have the address of a variable of that
// loop. What a
// frame is called is what the call says, as in R's own profiler: an object for the name, and one
// more for "package::" before it. Both are symbols, which R never frees, so a token proves itself.
// R keeps no line of a call unless it is asked to, and none is read.
//
// Everything that is read may be garbage: the thread is interrupted anywhere, and from outside it
// may be running meanwhile. Hence every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler or control thread, for the main thread only.  Allocates: never.
// Errno: kept.  Bounds: kMaxRContexts; up to 8 small reads for each.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/r/r_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxRContexts = 8192;  // loops and calls of C are contexts, too

// `code` of a call whose function has no name.
inline constexpr std::uint64_t kRAnonymous = 8;
// What stands between the symbols of `fingerprint` and `code`, in the lowest bits of the first.
enum ROperator : std::uint8_t { kRNoOperator, kRDoubleColon, kRTripleColon, kRDollar, kRAt };
inline constexpr std::uint64_t kROperatorBits = 7;

// What a call begins with (LANGSXP, as LISTSXP).
struct RPair {
  std::uint64_t value;
  std::uint64_t rest;
};

template <typename Reader>
class RWalk {
 public:
  RWalk(const RRuntime& r, Reader& reader, std::uint64_t stack, TokenBuffer& tokens) noexcept
      : r_(r), reader_(reader), stack_(stack), tokens_(tokens) {}

  SWIPR_SIGNAL_SAFE void run() noexcept {
    tokens_.clear();
    const bool is_whole = walk();
    // Then the stack is another thread's.
    const Token* const outermost = tokens_.last();
    if (is_whole && outermost != nullptr && outermost->flags == 0) tokens_.clear();
    tokens_.finish(is_whole);
  }

 private:
  static constexpr std::uint32_t kIsFunction = 4;

  bool walk() noexcept {
    std::uint64_t context = 0;
    if (!reader_.read_value(r_.innermost, context)) return false;
    for (unsigned count = 0; context != 0; ++count) {
      RContextHead head{};
      if (count == kMaxRContexts || context % 8 != 0 || !reader_.read_value(context, head)) {
        return false;
      }
      if ((head.flags & kIsFunction) != 0 && !add(context)) return false;
      context = head.next;
    }
    return true;
  }

  bool add(std::uint64_t context) noexcept {
    Token token{.code = kRAnonymous, .kind = TokenKind::kR};
    std::uint64_t call = 0;
    RPair pair{};
    if (!reader_.read_value(context + kRCall, call) || !read_call(call, pair)) return false;
    if (is_symbol(pair.value)) {
      token.code = pair.value;
    } else if (RPair selection{}; read_call(pair.value, selection)) {
      take_selection(selection, token);
    }
    token.mark = context;
    const bool is_placed =
        is_on_stack(token.mark) ||
        (reader_.read_value(context + kRLoop, token.mark) && is_on_stack(token.mark));
    if (is_placed) {
      token.flags = kTokenEndsLoop;
    } else {
      token.mark = 0;
    }
    tokens_.add(token);
    return true;
  }
  bool is_on_stack(std::uint64_t address) const noexcept {
    return address >= stack_ && address < r_.stack_end;
  }

  // A function that is a part of something, as in stats::sd(x).
  void take_selection(const RPair& selection, Token& token) noexcept {
    RPair first{};
    RPair second{};
    if (!read_pair(selection.rest, first) || !read_pair(first.rest, second) ||
        !is_symbol(second.value)) {
      return;
    }
    const ROperator found = operator_of(selection.value);
    if (found == kRNoOperator) return;
    token.code = second.value;
    if (is_symbol(first.value)) token.fingerprint = first.value | found;
  }

  // By its name, which is at most three characters long.
  ROperator operator_of(std::uint64_t symbol) noexcept {
    constexpr std::uint64_t kText = kRContents + 16;
    std::uint64_t name = 0;
    std::array<char, 4> text{};
    if (!is_symbol(symbol) || !reader_.read_value(symbol + kRContents, name) ||
        !reader_.read_value(name + kText, text)) {
      return kRNoOperator;
    }
    if (text[0] == '$' && text[1] == '\0') return kRDollar;
    if (text[0] == '@' && text[1] == '\0') return kRAt;
    if (text[0] != ':' || text[1] != ':') return kRNoOperator;
    if (text[2] == '\0') return kRDoubleColon;
    return text[2] == ':' && text[3] == '\0' ? kRTripleColon : kRNoOperator;
  }

  bool is_symbol(std::uint64_t object) noexcept { return has_type(object, kRSymbol); }
  bool read_call(std::uint64_t object, RPair& out) noexcept {
    return has_type(object, kRCallType) && read_pair(object, out);
  }
  bool has_type(std::uint64_t object, RType type) noexcept {
    std::uint8_t info = 0;
    return object != 0 && object % 8 == 0 && reader_.read_value(object, info) &&
           (info & kRTypeBits) == type;
  }
  bool read_pair(std::uint64_t object, RPair& out) noexcept {
    return object % 8 == 0 && reader_.read_value(object + kRContents, out);
  }

  const RRuntime& r_;
  Reader& reader_;
  std::uint64_t stack_;
  TokenBuffer& tokens_;
};

// Fills `tokens` with the frames of R. `stack`: the stack pointer of the main thread.
template <typename Reader>
SWIPR_SIGNAL_SAFE void walk_r(const RRuntime& r, Reader& reader, std::uint64_t stack,
                              TokenBuffer& tokens) noexcept {
  RWalk<Reader>(r, reader, stack, tokens).run();
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template void walk_r(const RRuntime&, ProbedObjects&, std::uint64_t, TokenBuffer&) noexcept;
extern template void walk_r(const RRuntime&, ObjectPieces&, std::uint64_t, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
