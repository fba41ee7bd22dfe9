#include "preload/runtimes/v8/v8_code.h"

#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_lines.h"

namespace swipr::runtimes {
namespace {

// Offsets in an object of code, and what is before its instructions. k10: the object itself,
// otherwise a map and the object. Then indexes of what the code was made of (DeoptimizationData).
struct CodeFields {
  std::uint8_t deoptimization;
  std::uint8_t positions;
  std::uint8_t before;
  std::uint8_t literals;
  std::uint8_t function;
  std::uint8_t inlined;
  bool is_function_wrapped;
};
constexpr CodeFields fields_of(V8CodeForm form) noexcept {
  switch (form) {
    case V8CodeForm::k10:
      return {16, 24, 128, 2, 6, 7, false};
    case V8CodeForm::k11:
      return {16, 24, 16, 2, 6, 7, false};
    case V8CodeForm::k12:
      return {8, 16, 32, 2, 6, 7, false};
    default:
      return {8, 16, 32, 3, 7, 8, true};
  }
}

constexpr std::uint64_t kElements = 16;   // of arrays, behind map and length
constexpr std::uint64_t kAlignment = 64;  // of instructions

// SourcePosition: the position in the source and the number of the inlined call, both from 1.
constexpr std::uint32_t script_offset(std::uint64_t position) noexcept {
  const std::uint32_t counted = counted_v8_position(position);
  return (position & 1) == 0 && counted != 0 ? kV8SourcePosition | (counted - 1) : kNoPosition;
}
constexpr std::uint64_t inlined_call(std::uint64_t position) noexcept {
  return position >> 31 & 0xffff;
}

class Expansion {
 public:
  Expansion(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
            V8Functions& out) noexcept
      : v8_(v8), fields_(fields_of(v8.traits.code)), reader_(reader), token_(token), out_(out) {}

  std::size_t run(std::uint64_t pc, V8CodePlace& place) noexcept {
    std::uint64_t position = 0;
    if (!is_in(place, pc)) {
      if (!find_code(pc)) return 0;
      place = {code_, begin_};
    }
    find_v8_code_position(v8_, reader_, code_, fields_.positions,
                          static_cast<std::uint32_t>(pc - begin_), position);
    while (inlined_call(position) != 0 && count_ + 1 < kMaxV8Inlined) {
      InlinedCall call;
      if (!read_call(inlined_call(position) - 1, call)) return 0;
      if (!add(call.function, script_offset(position), kTokenCompiled | kTokenInlined)) return 0;
      position = call.position;
    }
    if (!add(token_.code, script_offset(position), kTokenCompiled)) return 0;
    const std::uint64_t data = data_;
    reader_.forget();
    return has_instructions(pc) && read_data() && data == data_ ? count_ : 0;
  }

 private:
  struct InlinedCall {
    std::uint64_t position = 0;  // of the call, which may be inlined itself
    std::uint64_t function = 0;
  };

  bool is_in(const V8CodePlace& place, std::uint64_t pc) noexcept {
    code_ = place.object;
    begin_ = place.begin;
    return code_ != 0 && has_instructions(pc) && read_data();
  }

  // Instructions begin behind a header, somewhere before the pc. False: those around the pc are not
  // the function's optimized code.
  bool find_code(std::uint64_t pc) noexcept {
    std::array<std::uint64_t, 2> words;  // map; code
    std::uint64_t begin = pc & -kAlignment;
    for (; pc - begin < kMaxV8CodeBytes && begin > fields_.before; begin -= kAlignment) {
      const std::uint64_t header = begin - fields_.before;
      if (!reader_.read_value(header, words)) return false;
      const bool is_inside = v8_.traits.code == V8CodeForm::k10;
      if (v8_object(words[0]) == 0 || (!is_inside && v8_object(words[1]) == 0)) continue;
      code_ = is_inside ? header : v8_object(words[1]);
      begin_ = begin;
      if (has_instructions(pc)) return read_data();
    }
    return false;
  }

  bool has_instructions(std::uint64_t pc) noexcept {
    constexpr std::uint64_t kSecondHalf = 40;
    std::array<std::uint64_t, 3> words;  // begin, flags and size; k10: size and flags
    std::int32_t type = 0;
    if (!reader_.read_value(code_ + kSecondHalf, words)) return false;
    const V8CodeForm form = v8_.traits.code;
    const auto size = static_cast<std::uint32_t>(form == V8CodeForm::k10   ? words[0]
                                                 : form == V8CodeForm::k12 ? words[1] >> 32
                                                                           : words[2]);
    return (form == V8CodeForm::k10 || words[0] == begin_) && pc - begin_ < size &&
           read_v8_type(v8_.layout, reader_, code_ + 1, type) && type == v8_.layout.code_type;
  }

  // Sets data_. False: it is not the function's.
  bool read_data() noexcept {
    constexpr std::uint64_t kWrapped = 8;
    std::uint64_t function = 0;
    return reader_.read_value(code_ + fields_.deoptimization, data_) &&
           element(data_, fields_.function, function) &&
           (!fields_.is_function_wrapped ||
            reader_.read_value(v8_object(function) + kWrapped, function)) &&
           v8_object(function) == token_.code;
  }

  bool read_length(std::uint64_t array, std::uint64_t& out) noexcept {
    if (v8_object(array) == 0 || !reader_.read_value(v8_object(array) + 8, out) ||
        !is_v8_integer(out)) {
      return false;
    }
    out = static_cast<std::uint32_t>(v8_integer(out));
    return true;
  }
  bool element(std::uint64_t array, std::uint64_t index, std::uint64_t& out) noexcept {
    std::uint64_t length = 0;
    return read_length(array, length) && index < length &&
           reader_.read_value(v8_object(array) + kElements + index * 8, out);
  }

  bool read_call(std::uint64_t number, InlinedCall& out) noexcept {
    constexpr std::int32_t kItself = -1;
    constexpr std::uint64_t kWeak = 2;
    struct {  // InliningPosition
      std::uint64_t position;
      std::int32_t function;
      std::int32_t unused;
    } call;
    std::uint64_t calls = 0;
    std::uint64_t length = 0;
    std::uint64_t literals = 0;
    std::int32_t type = 0;
    if (!element(data_, fields_.inlined, calls) || !read_length(calls, length) ||
        (number + 1) * sizeof call > length ||
        !reader_.read_value(v8_object(calls) + kElements + number * sizeof call, call)) {
      return false;
    }
    out = {call.position, token_.code};
    if (call.function == kItself) return true;
    const auto index = static_cast<std::uint32_t>(call.function);
    std::uint64_t function = 0;
    if (!element(data_, fields_.literals, literals) || !element(literals, index, function) ||
        !read_v8_type(v8_.layout, reader_, function & ~kWeak, type) ||
        type != v8_.layout.shared_type) {
      return false;
    }
    out.function = v8_object(function & ~kWeak);
    return true;
  }

  bool add(std::uint64_t function, std::uint32_t position, unsigned flags) noexcept {
    Token& token = out_[count_++];
    token = {.code = function,
             .position = position,
             .kind = TokenKind::kJavaScript,
             .flags = static_cast<std::uint8_t>(flags)};
    return read_v8_fingerprint(v8_.layout, reader_, function, token.fingerprint);
  }

  const V8Runtime& v8_;
  CodeFields fields_;
  ObjectPieces& reader_;
  const Token& token_;
  V8Functions& out_;
  std::uint64_t code_ = 0;
  std::uint64_t begin_ = 0;  // of its instructions
  std::uint64_t data_ = 0;   // DeoptimizationData, tagged
  std::size_t count_ = 0;
};

}  // namespace

std::size_t expand_v8_token(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
                            std::uint64_t pc, V8CodePlace& place, V8Functions& out) noexcept {
  if (v8.traits.code == V8CodeForm::kUnknown) return 0;
  reader.forget();
  return Expansion(v8, reader, token, out).run(pc, place);
}

}  // namespace swipr::runtimes
