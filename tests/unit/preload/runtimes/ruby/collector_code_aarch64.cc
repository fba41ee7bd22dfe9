#include <cstring>
#include <initializer_list>

#include "tests/unit/preload/runtimes/ruby/collector_code.h"

namespace swipr::runtimes {

namespace {

constexpr std::uint32_t kAdrp = 0x90000000, kCbz = 0xb4000000;

std::vector<std::uint8_t> bytes_of(std::initializer_list<std::uint32_t> words) {
  std::vector<std::uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), std::data(words), bytes.size());
  return bytes;
}

std::uint32_t word_at(std::span<const std::uint8_t> code, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + at, sizeof word);
  return word;
}

}  // namespace

std::span<const CodeForm> collector_code_forms() {
  static const std::vector<CodeForm> forms = {
      // Debian's libruby-2.7.so.2.7.4 and libruby-3.1.so.3.1.2: the flag is in a word of 8 bytes
      {bytes_of({kAdrp, 0xf9400000, 0xf9400000, 0xf9404000, 0xf9400800, 0x53051400, 0xd65f03c0}), 0,
       true},
      // libruby-3.3.so.3.3.8
      {bytes_of({kAdrp, 0xf9400000, 0xf9400000, kCbz | 5 << 5, 0xf9404000, 0xf9400800, 0x53051400,
                 0xd65f03c0}),
       0, true},
      // with a frame pointer and pointer authentication
      {bytes_of({0xd503233f, 0xa9bf7bfd, 0x910003fd, kAdrp, 0xf9400000, 0xf9400000, 0xf9404000,
                 0xf9400800, 0x53051400, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0}),
       12, true},
      // of an executable: bti c, a variable of its own, other registers and sizes
      {bytes_of(
           {0xd503245f, kAdrp | 8, 0xf9400108, 0xf9404108, 0xb9401108, 0x53051500, 0xd65f03c0}),
       4, false},
      {bytes_of(
           {kAdrp | 1, 0x91000021, 0xf9400020, 0xf9404000, 0x39404000, 0xd3451400, 0xd65f03c0}),
       0, false},
  };
  return forms;
}

// adrp, and ldr or add.
void CodeForm::point_to(std::span<std::uint8_t> copy, std::uint64_t address) const {
  const std::uint64_t from = reinterpret_cast<std::uint64_t>(copy.data()) + operand_at;
  const auto pages = static_cast<std::uint32_t>((address >> 12) - (from >> 12)) & 0x1fffff;
  const auto offset = static_cast<std::uint32_t>(address & 0xfff);
  std::uint32_t second = word_at(code, operand_at + 4);
  const bool is_load = second >> 22 == 0xf9400000 >> 22;
  second |= (is_load ? offset / 8 : offset) << 10;
  const std::uint32_t first = word_at(code, operand_at) | (pages & 3) << 29 | pages >> 2 << 5;
  std::memcpy(copy.data() + operand_at, &first, sizeof first);
  std::memcpy(copy.data() + operand_at + 4, &second, sizeof second);
}

// The distance is in bits 5 to 23.
bool CodeForm::is_jump_distance(std::size_t at) const {
  return word_at(code, at & ~std::size_t{3}) >> 24 == kCbz >> 24 && (at % 4 == 1 || at % 4 == 2);
}

}  // namespace swipr::runtimes
