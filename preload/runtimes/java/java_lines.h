// The VM's compressed numbers, and what is written with them: line tables of methods.
// Context: control thread.  Allocates: never.
// Source: src/hotspot/share/utilities/unsigned5.hpp, code/compressedStream.hpp, oops/method.hpp.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::uint64_t kMaxJavaLineTable = std::uint64_t{64} << 10;  // bytes read of it

// Numbers of 1 to 5 bytes in the order of their addresses.
class JavaNumbers {
 public:
  // `version`: of the VM. Since 20 no byte of a number is 0.
  JavaNumbers(std::uint32_t version, Range<std::uint64_t> memory,
              unwind::ImageReader reader) noexcept
      : excluded_(version >= 20 ? 1 : 0), memory_(memory), reader_(reader) {}

  // False: the end, or unreadable.
  bool next_byte(std::uint8_t& out) noexcept {
    if (memory_.empty() || !reader_.read_value(memory_.begin, out)) return false;
    ++memory_.begin;
    return true;
  }
  bool next(std::uint32_t& out) noexcept;
  bool next_signed(std::int32_t& out) noexcept;

 private:
  std::uint32_t excluded_;
  Range<std::uint64_t> memory_;
  unwind::ImageReader reader_;
};

// `table`: addresses of its bytes, and perhaps of others after it. `position`: bytes of bytecode;
// any large number: the last line of the table. 0: the table gives no line, or cannot be read.
std::uint32_t find_java_line(std::uint32_t version, std::uint32_t position,
                             Range<std::uint64_t> table, unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
