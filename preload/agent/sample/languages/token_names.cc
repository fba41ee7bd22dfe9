#include "preload/agent/sample/languages/token_names.h"

#include "common/core/runtime_frame.h"
#include "preload/runtimes/java/java_names.h"
#include "preload/runtimes/lua/lua_names.h"
#include "preload/runtimes/luajit/luajit_names.h"
#include "preload/runtimes/perl/perl_names.h"
#include "preload/runtimes/php/php_names.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/r/r_names.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/runtimes/v8/v8_names.h"
#include "preload/unwind/base/code_hash.h"

namespace swipr::agent {

namespace {

using handler::RuntimeSnapshot;
using runtimes::ObjectPieces;
using runtimes::Token;
using runtimes::TokenKind;

constexpr std::chrono::seconds kTrusted{1};

std::size_t place_of(std::uint64_t code, std::uint64_t position, std::size_t places) noexcept {
  return static_cast<std::size_t>(unwind::hash_word(position, code)) % places;
}

template <typename Known>
bool is_valid(const Known& known, const Token& token, std::uint64_t proof, Moment now) noexcept {
  return known.code == token.code && known.proof == proof && now - known.read_at < kTrusted;
}

Language language_of(const Token& token) noexcept {
  switch (token.kind) {
    case TokenKind::kPython:
      return Language::kPython;
    case TokenKind::kJavaScript:
      return Language::kJavaScript;
    case TokenKind::kRuby:
      return Language::kRuby;
    case TokenKind::kPhp:
      return Language::kPhp;
    case TokenKind::kPerl:
      return Language::kPerl;
    case TokenKind::kR:
      return Language::kR;
    case TokenKind::kLua:
      return Language::kLua;
    default:
      return Language::kJava;
  }
}

}  // namespace

std::uint64_t TokenNames::proof_of(const Token& token) const noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const bool is_java = language_of(token) == Language::kJava;
  if (token.kind == TokenKind::kLua) return static_cast<std::uint32_t>(token.fingerprint);
  return is_java ? token.fingerprint ^ unloaded_classes_ * kOdd : token.fingerprint;
}

bool TokenNames::read_function(const Token& token, const RuntimeSnapshot& snapshot,
                               ObjectPieces& reader) noexcept {
  switch (language_of(token)) {
    case Language::kPython:
      return runtimes::read_python_function(snapshot.python, reader, token, text_);
    case Language::kJavaScript:
      return runtimes::read_v8_function(snapshot.v8, reader, token, lines_, text_);
    case Language::kRuby:
      return runtimes::read_ruby_function(snapshot.ruby, reader, token, text_);
    case Language::kPhp:
      return runtimes::read_php_function(reader, token, text_);
    case Language::kPerl:
      return runtimes::read_perl_function(snapshot.perl.layout, reader, token, text_);
    case Language::kR:
      return runtimes::read_r_function(reader, token, text_);
    case Language::kLua:
      return snapshot.lua.is_jit ? runtimes::read_luajit_function(reader, token, text_)
                                 : runtimes::read_lua_function(reader, token, text_);
    default:
      return runtimes::read_java_function(snapshot.java, reader, token, text_);
  }
}

bool TokenNames::read_line(const Token& token, const RuntimeSnapshot& snapshot,
                           ObjectPieces& reader, std::uint32_t& out) noexcept {
  switch (language_of(token)) {
    case Language::kPython:
      return runtimes::read_python_line(snapshot.python, reader, token, out);
    case Language::kJavaScript:
      return runtimes::read_v8_line(snapshot.v8, reader, token, lines_, out);
    case Language::kRuby:
      return runtimes::read_ruby_line(snapshot.ruby, reader, token, out);
    case Language::kLua:
      return snapshot.lua.is_jit ? runtimes::read_luajit_line(reader, token, out)
                                 : runtimes::read_lua_line(reader, token, out);
    default:
      return runtimes::read_java_line(snapshot.java, reader, token, out);
  }
}

std::uint64_t TokenNames::pc_of(const Token& token, const RuntimeSnapshot& snapshot,
                                ProcMemory& memory, FunctionTable& functions, Moment now) noexcept {
  if (token.kind == TokenKind::kCollector) {
    return runtime_frame_pc(
        {.function = functions.intern(
             {.language = snapshot.language, .name = kCollectorName, .is_collector = true})});
  }
  ObjectPieces reader(memory.image_reader());
  const std::uint32_t function = function_of(token, snapshot, reader, functions, now);
  return runtime_frame_pc({.function = function, .line = line_of(token, snapshot, reader, now)});
}

std::uint32_t TokenNames::function_of(const Token& token, const RuntimeSnapshot& snapshot,
                                      ObjectPieces& reader, FunctionTable& functions,
                                      Moment now) noexcept {
  const Language language = language_of(token);
  // Files that are run differ in their fingerprints only. Those of PHP consist of the hashes of all
  // names, so that what was read once is proven for code that has the same names and is gone.
  const bool is_php = language == Language::kPhp;
  const bool is_packed = is_php || language == Language::kPerl || language == Language::kR;
  KnownFunction& known =
      known_functions_[place_of(token.code, is_packed ? token.fingerprint : 0, kPlaces)];
  const std::uint64_t proof = proof_of(token);
  if (is_valid(known, token, proof, now)) return known.function;
  if (!read_function(token, snapshot, reader)) {
    if (is_php && known.function != 0 && is_valid(known, token, proof, known.read_at)) {
      return known.function;
    }
    return functions.intern({.language = language, .is_lost = true});
  }
  // The first name by which a function of Lua is called stays its name.
  if (language == Language::kLua && known.function != 0 &&
      is_valid(known, token, proof, known.read_at)) {
    known.read_at = now;
    return known.function;
  }
  const std::uint32_t function = functions.intern({.language = language,
                                                   .name = text_.name.view(),
                                                   .file = text_.file.view(),
                                                   .start_line = text_.first_line});
  known = {token.code, proof, now, function};
  return function;
}

std::uint32_t TokenNames::line_of(const Token& token, const RuntimeSnapshot& snapshot,
                                  ObjectPieces& reader, Moment now) noexcept {
  if (token.kind == TokenKind::kPhp) return runtimes::php_line(token);
  if (token.kind == TokenKind::kPerl) return runtimes::perl_line(token);
  if (token.kind == TokenKind::kR) return 0;
  KnownLine& known = known_lines_[place_of(token.code, token.position, kPlaces)];
  const std::uint64_t proof = proof_of(token);
  if (known.position == token.position && is_valid(known, token, proof, now)) return known.line;
  std::uint32_t line = 0;
  if (!read_line(token, snapshot, reader, line)) return 0;
  known = {token.code, proof, now, token.position, line};
  return line;
}

}  // namespace swipr::agent
