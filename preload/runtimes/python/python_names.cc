#include "preload/runtimes/python/python_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_lines.h"

namespace swipr::runtimes {

template PythonWalkEnd walk_python(const PythonRuntime&, ObjectPieces&, const PythonThreadStates&,
                                   TokenBuffer&) noexcept;
template PythonThreadStates find_python_states(const PythonRuntime&, ObjectPieces&,
                                               const ThreadIdentity&, unsigned) noexcept;

bool read_python_code_fingerprint(const PythonRuntime& python, ObjectPieces& reader,
                                  std::uint64_t code, std::uint64_t& out) noexcept {
  return read_python_fingerprint(python, reader, code, out);
}

namespace {

constexpr std::uint64_t kMaxCharacters = 4096;

// PyASCIIObject: the length at 16, and a word of bits at 32.
struct TextObject {
  std::uint64_t characters = 0;  // address
  std::uint64_t length = 0;
  unsigned width = 0;  // bytes of a character
};

bool read_text_object(const PythonLayout& layout, ObjectPieces& reader, std::uint64_t address,
                      TextObject& out) noexcept {
  constexpr std::uint64_t kLength = 16;
  constexpr std::uint64_t kState = 32;
  constexpr std::uint64_t kImplausible = std::uint64_t{1} << 32;
  std::uint32_t state = 0;
  if (address % 8 != 0 || !reader.read_value(address + kLength, out.length) ||
      !reader.read_value(address + kState, state)) {
    return false;
  }
  out.width = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  out.characters = address + (is_ascii ? layout.text_ascii : layout.text_other);
  return is_compact && out.length < kImplausible &&
         (out.width == 1 || out.width == 2 || out.width == 4);
}

template <std::size_t kBytes>
bool read_text(const PythonLayout& layout, ObjectPieces& reader, std::uint64_t address,
               BoundedText<kBytes>& out) noexcept {
  TextObject text;
  if (!read_text_object(layout, reader, address, text)) return false;
  const std::uint64_t count = std::min({text.length, kMaxCharacters, std::uint64_t{kBytes}});
  for (std::uint64_t index = 0; index < count; ++index) {
    std::array<std::byte, sizeof(std::uint32_t)> character{};
    const auto part = std::span(character).first(text.width);
    if (!reader.read(text.characters + index * text.width, part)) return false;
    std::uint32_t code_point = 0;
    std::memcpy(&code_point, character.data(), sizeof code_point);
    out.append(code_point);
  }
  if (count < text.length) out.cut();
  return true;
}

void append(BoundedText<1024>& out, std::string_view ascii) noexcept {
  for (const char c : ascii) out.append(static_cast<unsigned char>(c));
}

bool is_same_code(const PythonRuntime& python, ObjectPieces& reader, const Token& token) noexcept {
  std::uint64_t fingerprint = 0;
  reader.forget();
  return read_python_code_fingerprint(python, reader, token.code, fingerprint) &&
         fingerprint == token.fingerprint;
}

bool read_function(const PythonLayout& layout, ObjectPieces& reader, std::uint64_t code,
                   FunctionText& out) noexcept {
  const std::uint32_t name_at =
      layout.code_qualified_name != 0 ? layout.code_qualified_name : layout.code_name;
  std::uint64_t name = 0;
  std::uint64_t file = 0;
  out.name.clear();
  out.file.clear();
  return reader.read_value(code + name_at, name) &&
         reader.read_value(code + layout.code_file, file) &&
         reader.read_value(code + layout.code_first_line, out.first_line) &&
         read_text(layout, reader, name, out.name) && read_text(layout, reader, file, out.file);
}

}  // namespace

bool read_python_task_name(const PythonRuntime& python, ObjectPieces& reader,
                           std::uint64_t text_type, std::uint64_t name,
                           BoundedText<1024>& out) noexcept {
  std::uint64_t type = 0;
  if (!reader.read_value(name + kPythonObjectType, type)) return false;
  out.clear();
  append(out, "task ");
  if (type == text_type) return read_text(python.layout, reader, name, out);
  // 3.12+: a number, until somebody asks for the name.
  constexpr std::uint64_t kDigit = 24;
  std::uint32_t number = 0;
  if (!reader.read_value(name + kDigit, number)) return false;
  std::array<char, 10> digits{};
  std::size_t begin = digits.size();
  do {
    digits[--begin] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  append(out, "Task-");
  append(out, {digits.data() + begin, digits.size() - begin});
  return true;
}

bool read_python_function(const PythonRuntime& python, ObjectPieces& reader, const Token& token,
                          FunctionText& out) noexcept {
  return is_same_code(python, reader, token) &&
         read_function(python.layout, reader, token.code, out) &&
         is_same_code(python, reader, token);
}

bool read_python_line(const PythonRuntime& python, ObjectPieces& reader, const Token& token,
                      std::uint32_t& line) noexcept {
  constexpr std::uint64_t kSize = 16;  // PyBytesObject
  constexpr std::uint64_t kBytes = 32;
  const PythonLayout& layout = python.layout;
  std::uint64_t table = 0;
  std::uint64_t size = 0;
  std::uint32_t first_line = 0;
  if (!is_same_code(python, reader, token) ||
      !reader.read_value(token.code + layout.code_lines, table) ||
      !reader.read_value(token.code + layout.code_first_line, first_line) ||
      !reader.read_value(table + kSize, size)) {
    return false;
  }
  const std::uint64_t begin = table + kBytes;
  const std::uint64_t end = begin + std::min(size, kMaxPythonLineTable);
  line = find_python_line(layout.lines, first_line, token.position, {begin, end},
                          reader.image_reader());
  return is_same_code(python, reader, token);
}

}  // namespace swipr::runtimes
