// A token is what a stack walk remembers of one frame of a language: addresses and numbers, no
// text. Names and lines are made of it later, on the control thread (python/python_names.h).
// Context: anywhere, signal handlers included.  Allocates: never.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace swipr::runtimes {

enum class TokenKind : std::uint8_t {
  kPython = 1,
  kJava = 2,          // a method
  kJavaCompiled = 3,  // compiled code: of one method and those inlined there (java/java_names.h)
  kJavaStub = 4,      // generated code without a name of its own, between methods and native code
  kJavaScript = 5,
  kCollector = 6,  // no function: the runtime collects garbage
  kRuby = 7,
  kPhp = 8,
  kJavaHidden = 9,  // stands for callers that are not on the stack, but in an object of the heap
  kPerl = 10,
  kR = 11,
  kLua = 12,
};

enum TokenFlags : std::uint8_t {
  // The outermost frame that its native interpreter loop runs: all frames up to here, from the one
  // behind the previous such token on, are one group of the splice (splice.h).
  kTokenEndsLoop = 1,
  kTokenCompiled = 2,  // found in compiled code …
  kTokenInlined = 4,   // … kJava: and inlined into the method of the next token
  kTokenBuiltIn = 8,   // a function of the runtime itself
};

inline constexpr std::uint32_t kNoPosition = ~std::uint32_t{0};  // the function has not begun

struct Token {
  // Address of the object that describes the function. PHP and Perl: see pack_names, as for `mark`;
  // R: see r/r_frames.h; Lua: lua/lua_frames.h, as for `mark`.
  std::uint64_t code = 0;
  std::uint64_t fingerprint = 0;  // of that object, to recognise another one at its address
  // An address in the native frame of the loop. Only with kTokenEndsLoop; 0: none is known. Java:
  // the frame's stack pointer.
  std::uint64_t mark = 0;
  // Bytes from the start of the function's bytecode, or of the compiled code.
  std::uint32_t position = kNoPosition;
  TokenKind kind = TokenKind::kPython;
  std::uint8_t flags = 0;  // TokenFlags
};

// The tokens of one stack, innermost first. Of a deep stack both ends are kept.
class TokenBuffer {
 public:
  static constexpr std::uint32_t kCapacity = 2048;
  static constexpr std::uint32_t kKeptInner = 1536;
  static constexpr std::uint32_t kKeptOuter = kCapacity - kKeptInner;

  void clear() noexcept {
    added_ = 0;
    is_root_reached_ = false;
  }
  void add(const Token& token) noexcept { tokens_[slot(added_++)] = token; }
  // The token that was added last; nullptr: none. Before finish().
  Token* last() noexcept { return added_ == 0 ? nullptr : &tokens_[slot(added_ - 1)]; }
  // The one that was added with that number; nullptr: it is left out. Before finish().
  Token* at(std::uint32_t index) noexcept {
    const bool is_kept = index < kKeptInner || added_ - index <= kKeptOuter;
    return is_kept ? &tokens_[slot(index)] : nullptr;
  }
  // Removes the first one, if all are kept. Before finish().
  void remove_first() noexcept {
    if (added_ == 0 || added_ > kKeptInner) return;
    std::move(tokens_.begin() + 1, tokens_.begin() + added_, tokens_.begin());
    --added_;
  }
  // Removes the tokens behind the first `count`, of which at most kKeptInner were added.
  void shorten(std::uint32_t count) noexcept { added_ = std::min(added_, count); }
  // Removes the tokens whose marks are not below this one; marks ascend. Before finish().
  void remove_from(std::uint64_t mark) noexcept {
    if (added_ > kCapacity) added_ = 0;  // the outer ones are not in order
    while (added_ != 0 && tokens_[slot(added_ - 1)].mark >= mark) --added_;
  }
  // After the last add(): puts the outer tokens into their order. `is_root_reached`: the last token
  // is the thread's outermost.
  void finish(bool is_root_reached) noexcept {
    is_root_reached_ = is_root_reached;
    if (added_ <= kCapacity) return;
    std::rotate(tokens_.begin() + kKeptInner, tokens_.begin() + slot(added_), tokens_.end());
  }

  std::uint32_t added() const noexcept { return added_; }  // with the omitted ones
  std::uint32_t omitted() const noexcept { return added_ <= kCapacity ? 0 : added_ - kCapacity; }
  bool is_root_reached() const noexcept { return is_root_reached_; }
  // Where the omitted tokens were, if there are any: at index kKeptInner. After finish().
  std::span<const Token> tokens() const noexcept {
    return std::span(tokens_).first(std::min(added_, kCapacity));
  }

 private:
  static std::uint32_t slot(std::uint32_t index) noexcept {
    return index < kKeptInner ? index : kKeptInner + (index - kKeptInner) % kKeptOuter;
  }

  std::uint32_t added_ = 0;
  bool is_root_reached_ = false;
  std::array<Token, kCapacity> tokens_;
};

}  // namespace swipr::runtimes
