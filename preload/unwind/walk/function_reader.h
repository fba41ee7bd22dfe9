// WalkLoop's reader through a StackReader.
// Context: anywhere, as its StackReader.
#pragma once

#include <cstdint>

#include "preload/unwind/base/registers.h"

namespace swipr::unwind {

class FunctionReader {
 public:
  static constexpr bool kReadsCode = true;

  explicit FunctionReader(StackReader reader) noexcept : reader_(reader) {}
  bool read_word(std::uint64_t address, std::uint64_t& out) const noexcept {
    return reader_.read_word(reader_.state, address, out);
  }
  StackReader stack_reader() const noexcept { return reader_; }

 private:
  StackReader reader_;
};

}  // namespace swipr::unwind
