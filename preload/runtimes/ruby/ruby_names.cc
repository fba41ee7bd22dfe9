#include "preload/runtimes/ruby/ruby_names.h"

#include <pthread.h>

#include <array>

#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {

template RubyWalkEnd walk_ruby(const RubyRuntime&, ObjectPieces&, std::uint64_t,
                               TokenBuffer&) noexcept;

namespace {

constexpr std::uint64_t kTypeMask = 0x1f;
constexpr std::uint64_t kText = 5;        // T_STRING
constexpr std::uint64_t kArray = 7;       // T_ARRAY
constexpr std::uint64_t kFlag = 1 << 13;  // strings: elsewhere; arrays: within the object
constexpr std::uint64_t kImplausible = 1 << 24;

// RString.
template <std::size_t kBytes>
bool append_text(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t address,
                 BoundedText<kBytes>& out) noexcept {
  std::array<std::uint64_t, 4> words;  // flags, class, length, address
  if (address == 0 || address % 8 != 0 || !reader.read_value(address, words) ||
      (words[0] & kTypeMask) != kText) {
    return false;
  }
  std::uint64_t begin = words[3];
  std::uint64_t length = words[2];
  if ((words[0] & kFlag) == 0) {
    begin = address + (layout.has_text_length ? 24 : 16);
    if (!layout.has_text_length) length = words[0] >> 14 & 0x1f;
  }
  return length < kImplausible && append_utf8(reader, begin, length, out);
}

template <std::size_t kBytes>
bool read_text(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t address,
               BoundedText<kBytes>& out) noexcept {
  out.clear();
  return append_text(layout, reader, address, out);
}

// RArray. False: it is none, or ends before that element.
bool read_element(ObjectPieces& reader, std::uint64_t array, std::uint64_t index,
                  std::uint64_t& out) noexcept {
  constexpr unsigned kLengthBit = 15;       // of arrays within their object
  std::array<std::uint64_t, 5> words = {};  // flags, class, length, capacity, elements
  if (array == 0 || array % 8 != 0 || !reader.read_value(array, words) ||
      (words[0] & kTypeMask) != kArray) {
    return false;
  }
  const bool is_within = (words[0] & kFlag) != 0;
  const std::uint64_t length = is_within ? words[0] >> kLengthBit & 0x7f : words[2];
  const std::uint64_t elements = is_within ? array + 16 : words[4];
  return index < length && length < kImplausible && reader.read_value(elements + index * 8, out);
}

// A string, or an array of that and the real path.
bool read_path(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t address,
               FunctionText& out) noexcept {
  return read_text(layout, reader, address, out.file) ||
         (read_element(reader, address, 0, address) &&
          read_text(layout, reader, address, out.file));
}

bool read_same_code(ObjectPieces& reader, const Token& token, RubyCodeBody& body) noexcept {
  reader.forget();
  return read_ruby_code(reader, token.code, body) && fingerprint_of(body) == token.fingerprint;
}

std::uint32_t first_line_of(const RubyLayout& layout, const RubyCodeBody& body) noexcept {
  constexpr std::uint64_t kMaxLine = 1 << 30;
  const std::uint64_t line =
      layout.is_first_line_an_object ? body.first_line >> 1 : body.first_line & 0xffff'ffff;
  return line < kMaxLine ? static_cast<std::uint32_t>(line) : 0;
}

// struct iseq_insn_info.
struct LineTable {
  std::uint64_t entries;
  std::uint64_t positions;
  std::uint32_t size;
  std::uint32_t unused;
  std::uint64_t index;  // struct succ_index_table
};

// std::popcount needs libgcc.
std::uint32_t count_bits(std::uint64_t word) noexcept {
  std::uint32_t count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

// How many entries begin at `position` or before. The index has a bit for each position where an
// entry begins, and the number of bits before each group: of 9 positions among the first 54, with
// 7 bits for each of them; then of blocks of 512 positions. False: unreadable.
bool count_entries(ObjectPieces& reader, std::uint64_t index, std::uint32_t position,
                   std::uint32_t& out) noexcept {
  constexpr std::uint32_t kFirst = 54;
  constexpr std::uint32_t kPerWord = 9;
  constexpr std::uint32_t kBlock = 512;
  struct Block {
    std::uint64_t before;        // the block; 32 bits
    std::uint64_t words_before;  // 9 bits for each word but the first
    std::array<std::uint64_t, kBlock / 64> bits;
  };
  if (position < kFirst) {
    std::uint64_t word = 0;
    if (!reader.read_value(index + position / kPerWord * 8, word)) return false;
    out = static_cast<std::uint32_t>(word >> position % kPerWord * 7 & 0x7f);
    return true;
  }
  const std::uint32_t rest = position - kFirst;
  const std::uint32_t word = rest % kBlock / 64;
  Block block;
  if (!reader.read_value(index + kFirst / kPerWord * 8 + rest / kBlock * sizeof block, block)) {
    return false;
  }
  const std::uint64_t before = word == 0 ? 0 : block.words_before >> (word - 1) * 9 & 0x1ff;
  out = static_cast<std::uint32_t>(block.before) + static_cast<std::uint32_t>(before) +
        count_bits(block.bits[word] << (63 - rest % 64));
  return true;
}

}  // namespace

bool append_ruby_name(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t names,
                      std::uint64_t name, BoundedText<1024>& out) noexcept {
  constexpr std::uint64_t kOperators = 1024;  // above tLAST_OP_ID, below the first other ID
  constexpr unsigned kScopeBits = 4;          // ID_SCOPE_SHIFT
  constexpr std::uint64_t kUnit = 512;        // ID_ENTRY_UNIT, each: text, symbol
  const std::uint64_t number = name < kOperators ? name : name >> kScopeBits;
  std::uint64_t unit = 0;
  std::uint64_t text = 0;
  return read_element(reader, names, number / kUnit, unit) &&
         read_element(reader, unit, number % kUnit * 2, text) &&
         append_text(layout, reader, text, out);
}

bool read_ruby_function(const RubyRuntime& ruby, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept {
  RubyCodeBody body;
  if ((token.flags & kTokenBuiltIn) != 0) {
    std::uint64_t names = 0;
    reader.forget();
    out.first_line = 0;
    out.file.clear();
    out.name.clear();
    append_ruby_class(ruby.classes, reader, token.fingerprint, out.name);
    return reader.read_value(ruby.names, names) &&
           append_ruby_name(ruby.layout, reader, names, token.code, out.name);
  }
  if (!read_same_code(reader, token, body)) return false;
  out.first_line = first_line_of(ruby.layout, body);
  return read_text(ruby.layout, reader, body.label, out.name) &&
         read_path(ruby.layout, reader, body.path, out) && read_same_code(reader, token, body);
}

bool read_ruby_line(const RubyRuntime& ruby, ObjectPieces& reader, const Token& token,
                    std::uint32_t& line) noexcept {
  RubyCodeBody body;
  RubyCode code;
  LineTable table;
  std::uint32_t count = 1;
  line = 0;
  if ((token.flags & kTokenBuiltIn) != 0) return true;
  if (!read_same_code(reader, token, body) || !reader.read_value(token.code, code) ||
      !reader.read_value(code.body + ruby.layout.lines, table)) {
    return false;
  }
  if (token.position == kNoPosition) {
    line = first_line_of(ruby.layout, body);
    return true;
  }
  if (table.size > 1 && table.index == 0) return true;
  if (table.size > 1 && !count_entries(reader, table.index, token.position, count)) return false;
  if (count == 0 || count > table.size) return true;
  const std::uint64_t entry = table.entries + std::uint64_t{count - 1} * ruby.layout.line_bytes;
  return reader.read_value(entry, line) && read_same_code(reader, token, body);
}

std::uint64_t find_listed_ruby_context(const RubyRuntime& ruby, ObjectPieces& reader,
                                       std::uint64_t thread_pointer) noexcept {
  // rb_vm_t; a list whose nodes begin the threads
  constexpr std::uint64_t kLivingThreads = 232 + 2 * sizeof(pthread_mutex_t);
  constexpr std::uint64_t kThreadContext = 32;
  constexpr std::uint64_t kThreadId = 72;
  constexpr unsigned kMaxThreads = 4096;
  std::uint64_t machine = 0;
  std::uint64_t thread = 0;
  if (!reader.read_value(ruby.machine, machine) || machine == 0) return 0;
  const std::uint64_t list = machine + kLivingThreads;
  if (!reader.read_value(list, thread)) return 0;
  for (unsigned step = 0; step < kMaxThreads && thread != list && thread != 0; ++step) {
    std::uint64_t id = 0;
    std::uint64_t context = 0;
    if (!reader.read_value(thread + kThreadId, id)) return 0;
    if (id == thread_pointer + ruby.pthread_offset) {
      return reader.read_value(thread + kThreadContext, context) ? context : 0;
    }
    if (!reader.read_value(thread, thread)) return 0;
  }
  return 0;
}

}  // namespace swipr::runtimes
