// Up to one instruction of a function's code, with bytes to decode past the function's end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/machine/instruction_x86_64.h"

namespace swipr::trace {

class CodePiece {
 public:
  CodePiece(std::span<const std::uint8_t> code, std::size_t at) noexcept {
    const auto rest = code.subspan(std::min(at, code.size()));
    size_ = std::min(rest.size(), bytes_.size());
    std::copy_n(rest.begin(), size_, bytes_.begin());
  }
  std::span<const std::uint8_t> bytes() const noexcept { return bytes_; }
  // bytes 0: none, or it does not end inside the code.
  machine::Instruction decode() const noexcept {
    const machine::Instruction instruction = machine::decode_instruction(bytes_);
    return instruction.bytes <= size_ ? instruction : machine::Instruction{};
  }

 private:
  std::array<std::uint8_t, machine::kLongestInstruction> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace swipr::trace
