#include "preload/runtimes/splice.h"

#include <algorithm>

namespace swipr::runtimes {
namespace {

constexpr std::uint32_t kKeptInner = TokenBuffer::kKeptInner;
constexpr std::uint32_t kKeptOuter = wire::kMaxFrames - kKeptInner;
constexpr std::uint32_t kMaxLost = 16;  // groups without a loop; each costs a search of the stack

class Splicer {
 public:
  Splicer(const NativeStack& native, const TokenStack& tokens, Range<std::uint64_t> loop,
          SplicedStack& out) noexcept
      : native_(native),
        native_count_(static_cast<std::uint32_t>(
            std::min({native.pcs.size(), native.stacks.size(), std::size_t{wire::kMaxFrames}}))),
        tokens_(tokens.tokens.first(
            std::min<std::size_t>(tokens.tokens.size(), TokenBuffer::kCapacity))),
        is_token_root_(tokens.is_root_reached),
        tokens_gap_(tokens.omitted != 0 ? TokenBuffer::kKeptInner : 0),
        loop_(loop),
        out_(out) {}

  void run() noexcept {
    out_.count = 0;
    out_.omitted_at = 0;
    out_.is_uneven = false;
    out_.is_paired = false;
    out_.loops_left = 0;
    plan();
    std::uint32_t begin = 0;
    for (std::uint32_t group = 0; begin < token_count() && lost_ < kMaxLost; ++group) {
      const std::uint32_t first = begin;
      const std::uint32_t end = end_of_group(first);
      const std::uint32_t at = loop_of(group, tokens_[end - 1].mark);
      begin = end;
      if (at == native_count_) {
        if (has_marks_) ++lost_;
        if (group == 0 && is_entering_) put_tokens(end);
        continue;
      }
      if (has_marks_ && next_token_ < first && native_.omitted_at == 0) out_.is_uneven = true;
      // The frame before omitted ones may not be the loop itself: its callers were omitted.
      const bool is_kept = at + 1 == native_.omitted_at && !is_loop(at);
      put_natives(is_kept ? at + 1 : at, first);
      put_tokens(end);
      replace(at);
    }
    const bool is_middle_missing = native_.omitted_at != 0 && native_.is_root_reached;
    put_natives(native_count_, is_middle_missing ? token_count() : next_token_);
    // They belong to frames that native unwinding did not find, unless it found all.
    if (next_token_ < token_count() && native_.is_root_reached) out_.is_uneven = true;
    put_tokens(token_count());
    finish();
  }

 private:
  std::uint32_t token_count() const noexcept { return static_cast<std::uint32_t>(tokens_.size()); }

  std::uint32_t end_of_group(std::uint32_t begin) const noexcept {
    std::uint32_t end = begin;
    while (end < tokens_.size() && (tokens_[end].flags & kTokenEndsLoop) == 0) ++end;
    return std::min(end + 1, token_count());
  }

  bool is_loop(std::uint32_t index) const noexcept { return loop_.contains(native_.pcs[index]); }

  // Without marks: which groups pair with which loops.
  void plan() noexcept {
    for (const Token& token : tokens_) {
      if ((token.flags & kTokenEndsLoop) != 0) ++group_count_;
      // Tokens with packed names have something else there.
      const bool is_packed = token.kind == TokenKind::kPhp || token.kind == TokenKind::kPerl;
      has_marks_ = has_marks_ || (token.mark != 0 && !is_packed);
    }
    // The outermost function, if it is built in, is not run by a loop.
    constexpr unsigned kNoOtherGroup = kTokenEndsLoop | kTokenBuiltIn;
    if (!tokens_.empty() && (tokens_.back().flags & kNoOtherGroup) == 0) ++group_count_;
    if (has_marks_) return;
    std::uint32_t inner = 0;  // loops before the omitted frames
    const bool has_all = is_token_root_ && native_.omitted_at == 0 && tokens_gap_ == 0;
    for (std::uint32_t index = 0; index < native_count_; ++index) {
      if (!is_loop(index)) continue;
      ++loop_count_;
      if (index < native_.omitted_at) ++inner;
    }
    out_.is_paired = has_all && group_count_ == loop_count_;
    if (!is_token_root_) {
      inner = std::min(loop_count_, group_count_);
      loop_count_ = inner;  // the others have no tokens
    } else if (group_count_ < loop_count_) {
      inner = 0;
    } else if (native_.omitted_at == 0) {
      inner = native_.is_root_reached ? 0 : loop_count_;
    }
    paired_inside_ = inner;
    paired_outside_ = std::min(loop_count_ - inner, group_count_);
    const bool is_whole = native_.is_root_reached && has_all;
    is_entering_ = is_whole && group_count_ == loop_count_ + 1;
    out_.is_uneven =
        is_whole && loop_count_ != group_count_ && loop_count_ != group_count_ + 1 && !is_entering_;
  }

  // The native frame whose place the group takes; native_count_: none.
  std::uint32_t loop_of(std::uint32_t group, std::uint64_t mark) noexcept {
    if (has_marks_) return holder_of(mark);
    if (group < paired_inside_) return index_of_loop(group);
    const std::uint32_t from_root = group_count_ - group;
    return from_root <= paired_outside_ ? index_of_loop(loop_count_ - from_root) : native_count_;
  }

  std::uint32_t index_of_loop(std::uint32_t number) noexcept {
    while (next_loop_index_ < native_count_) {
      if (is_loop(next_loop_index_) && next_loop_number_++ == number) return next_loop_index_++;
      ++next_loop_index_;
    }
    return native_count_;
  }

  std::uint32_t holder_of(std::uint64_t mark) const noexcept {
    if (mark == 0) return native_count_;
    std::uint32_t index = next_native_ == 0 ? 0 : next_native_ - 1;  // one may hold several
    for (; index + 1 < native_count_; ++index) {
      if (mark >= native_.stacks[index] && mark < native_.stacks[index + 1]) return index;
    }
    // The end of the last frame is unknown.
    const bool is_last = index < native_count_ && !native_.is_root_reached && is_loop(index) &&
                         mark >= native_.stacks[index];
    return is_last ? index : native_count_;
  }

  // Native frames before `end`. With marks, those in the loop's symbol beside a replaced frame are
  // parts of the same loop; without, each is a loop.
  // Tokens before `pending` have no loop: they are put where frames are omitted, if that is here.
  void put_natives(std::uint32_t end, std::uint32_t pending) noexcept {
    std::uint32_t begin = next_native_;
    std::uint32_t last = end;
    if (end <= begin) return;
    if (has_marks_) {
      while (is_behind_loop_ && begin < end && is_loop(begin)) ++begin;
      while (end < native_count_ && last > begin && is_loop(last - 1)) --last;
    }
    for (std::uint32_t index = begin; index < last; ++index) {
      if (is_gap_before(index)) put_gap(pending);
      put({index, false});
      if (is_loop(index)) ++out_.loops_left;
    }
    next_native_ = end;
    if (is_gap_before(end)) put_gap(pending);
    is_behind_loop_ = false;
  }
  bool is_gap_before(std::uint32_t index) const noexcept {
    return native_.omitted_at != 0 && index == native_.omitted_at;
  }
  void put_gap(std::uint32_t pending) noexcept {
    if (out_.omitted_at == 0) out_.omitted_at = out_.count;
    put_tokens(pending);
  }

  void put_tokens(std::uint32_t end) noexcept {
    for (; next_token_ < end; ++next_token_) {
      if (tokens_gap_ != 0 && next_token_ == tokens_gap_ && out_.omitted_at == 0) {
        out_.omitted_at = out_.count;
      }
      put({next_token_, true});
    }
  }

  void replace(std::uint32_t at) noexcept {
    if (at < next_native_) return;  // kept, or another group took its place
    is_behind_loop_ = true;
    next_native_ = at + 1;
  }

  void put(SplicedFrame frame) noexcept { out_.frames[out_.count++] = frame; }

  void finish() noexcept {
    if (out_.count <= wire::kMaxFrames) return;
    const auto end = out_.frames.begin() + out_.count;
    std::copy(end - kKeptOuter, end, out_.frames.begin() + kKeptInner);
    if (out_.omitted_at == 0 || out_.omitted_at > kKeptInner) out_.omitted_at = kKeptInner;
    out_.count = wire::kMaxFrames;
  }

  const NativeStack& native_;
  std::uint32_t native_count_;
  std::span<const Token> tokens_;
  bool is_token_root_;
  std::uint32_t tokens_gap_;  // index of the first token after the omitted ones; 0: none are
  Range<std::uint64_t> loop_;
  SplicedStack& out_;
  bool has_marks_ = false;
  std::uint32_t group_count_ = 0;
  std::uint32_t loop_count_ = 0;
  std::uint32_t paired_inside_ = 0;   // so many groups pair with the loops counted from the inside
  std::uint32_t paired_outside_ = 0;  // … and so many from the root
  std::uint32_t next_loop_index_ = 0;
  std::uint32_t next_loop_number_ = 0;
  std::uint32_t next_native_ = 0;
  std::uint32_t next_token_ = 0;
  std::uint32_t lost_ = 0;
  bool is_entering_ = false;     // without marks: the innermost group's loop has not begun
  bool is_behind_loop_ = false;  // the frame before next_native_ was replaced
};

}  // namespace

void splice(const NativeStack& native, const TokenStack& tokens, Range<std::uint64_t> loop,
            SplicedStack& out) noexcept {
  Splicer(native, tokens, loop, out).run();
}

}  // namespace swipr::runtimes
