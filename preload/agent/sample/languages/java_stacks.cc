#include "preload/agent/sample/languages/java_stacks.h"

#include <algorithm>

#include "common/core/runtime_frame.h"

namespace swipr::agent {

namespace {

using runtimes::Token;
using runtimes::TokenKind;

constexpr std::chrono::seconds kTrusted{1};

std::uint8_t kind_of(Execution execution) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(execution) | unwind::kExactFrame);
}

// Of the method at this index, innermost first: all but the last are inlined into the next.
std::uint8_t compiled_kind(std::size_t index, std::size_t count) noexcept {
  return kind_of(index + 1 == count ? Execution::kCompiled : Execution::kInlined);
}

std::size_t place_of(const Token& token, std::size_t places) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const std::uint64_t mixed = (token.code ^ std::uint64_t{token.position} << 32) * kOdd;
  return static_cast<std::size_t>(mixed >> 40) % places;
}

// Tokens with ascending marks, which are asked for in that order. Two have the same if the inner
// one's code has no frame, where calls do not push the return address.
class TokenSearch {
 public:
  explicit TokenSearch(std::span<const Token> tokens) noexcept : left_(tokens) {}
  const Token* find(std::uint64_t mark) noexcept {
    while (!left_.empty() && left_.front().mark < mark) left_ = left_.subspan(1);
    if (left_.empty() || left_.front().mark != mark) return nullptr;
    const Token* const found = left_.data();
    left_ = left_.subspan(1);
    return found;
  }

 private:
  std::span<const Token> left_;
};

bool is_committed(const runtimes::JavaRuntime& java, std::uint64_t pc) noexcept {
  return std::any_of(java.heaps.begin(), java.heaps.end(),
                     [pc](const runtimes::JavaCodeHeap& heap) { return heap.memory.contains(pc); });
}

// The index of a frame: beyond kMaxFrames the outer frames are stored in a ring.
std::uint32_t slot(std::uint32_t index) noexcept {
  return index < wire::kMaxFrames
             ? index
             : unwind::kKeptInner + (index - unwind::kKeptInner) % unwind::kKeptOuter;
}

}  // namespace

bool JavaStacks::name_frames(NameSources& sources, std::span<const Token> first,
                             std::span<const Token> second, unwind::FrameBuffer& frames) noexcept {
  TokenSearch inner(first);
  TokenSearch outer(second);
  const bool is_cut = (frames.flags & wire::kStackCut) != 0;
  bool is_outdated = false;
  begin();
  for (std::uint32_t at = 0; at < frames.frame_count; ++at) {
    if (is_cut && at == frames.omitted_at) omitted_at_ = count_;
    const Token* token = nullptr;
    if (sources.snapshot.java.code.contains(frames.pcs[at])) {
      token = inner.find(frames.stacks[at]);
      if (token == nullptr) token = outer.find(frames.stacks[at]);
      is_outdated |= token == nullptr && !is_committed(sources.snapshot.java, frames.pcs[at]);
    }
    if (token == nullptr) {
      put(frames.pcs[at], frames.kinds[at]);
    } else {
      put_token(sources, *token);
    }
  }
  if (is_cut && frames.omitted_at >= frames.frame_count) omitted_at_ = count_;
  end(frames);
  return is_outdated;
}

void JavaStacks::begin() noexcept {
  count_ = 0;
  omitted_at_ = 0;
}

void JavaStacks::put(std::uint64_t pc, std::uint8_t kind) noexcept {
  const std::uint32_t at = slot(count_++);
  pcs_[at] = pc;
  kinds_[at] = kind;
}

void JavaStacks::put_token(NameSources& sources, const Token& token) noexcept {
  switch (token.kind) {
    case TokenKind::kJavaCompiled:
      return put_compiled(sources, token);
    case TokenKind::kJava:
      return put(sources.names.pc_of(token, sources.snapshot, sources.memory, sources.functions,
                                     sources.now),
                 kind_of(Execution::kInterpreted));
    case TokenKind::kJavaHidden:
      return put(runtime_frame_pc({.function = sources.functions.intern(
                                       {.language = Language::kJava, .name = kParkedFramesName})}),
                 kind_of(Execution::kBuiltIn));
    default:
      return;
  }
}

void JavaStacks::put_compiled(NameSources& sources, const Token& token) noexcept {
  KnownPlace& known = known_[place_of(token, kPlaces)];
  const bool is_known = known.code == token.code && known.fingerprint == token.fingerprint &&
                        known.position == token.position && sources.now - known.read_at < kTrusted;
  if (is_known) {
    for (std::size_t i = 0; i < known.count; ++i) {
      put(known.pcs[i], compiled_kind(i, known.count));
    }
    return;
  }
  runtimes::ObjectPieces reader(sources.memory.image_reader());
  const std::size_t count =
      runtimes::expand_java_token(sources.snapshot.java, reader, token, methods_);
  if (count == 0) {
    const std::uint32_t lost =
        sources.functions.intern({.language = Language::kJava, .is_lost = true});
    return put(runtime_frame_pc({.function = lost}), kind_of(Execution::kCompiled));
  }
  const bool fits = count <= KnownPlace::kMost;
  known.code = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t pc = sources.names.pc_of(methods_[i], sources.snapshot, sources.memory,
                                                 sources.functions, sources.now);
    put(pc, compiled_kind(i, count));
    if (fits) known.pcs[i] = pc;
  }
  if (!fits) return;
  known.code = token.code;
  known.fingerprint = token.fingerprint;
  known.position = token.position;
  known.read_at = sources.now;
  known.count = static_cast<std::uint32_t>(count);
}

void JavaStacks::end(unwind::FrameBuffer& frames) noexcept {
  frames.frame_count = std::min<std::uint32_t>(count_, wire::kMaxFrames);
  if (count_ > wire::kMaxFrames) {
    const std::uint32_t oldest = slot(count_);
    std::rotate(pcs_.begin() + unwind::kKeptInner, pcs_.begin() + oldest, pcs_.end());
    std::rotate(kinds_.begin() + unwind::kKeptInner, kinds_.begin() + oldest, kinds_.end());
    frames.flags |= wire::kStackCut;
    omitted_at_ = unwind::kKeptInner;
  }
  std::copy_n(pcs_.begin(), frames.frame_count, frames.pcs.begin());
  std::copy_n(kinds_.begin(), frames.frame_count, frames.kinds.begin());
  frames.omitted_at = omitted_at_;
}

}  // namespace swipr::agent
