// PHP's frames, functions and texts in this process's memory, laid out as a version does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "preload/runtimes/php/php_frames.h"

namespace swipr::runtimes {

// What it makes stays where it is: in neighbouring pages, because a walk remembers only two of
// those that share a place in its cache.
class PhpMemory {
 public:
  static constexpr std::uint32_t kInstructions = 10;  // of each function
  static constexpr std::uint32_t kFirstLine = 99;
  static constexpr std::uint32_t kInstructionWords = 4;

  explicit PhpMemory(std::uint32_t api) : layout_(*find_php_layout(api)) {}

  std::uint64_t* words(std::size_t count) {
    std::uint64_t* const begin = words_.data() + used_;
    used_ += count;
    if (used_ > words_.size()) std::abort();
    return begin;
  }
  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  static std::uint64_t* at(std::uint64_t address) {
    return reinterpret_cast<std::uint64_t*>(address);
  }

  std::uint64_t text(std::string_view text, bool is_hashed = true) {
    std::uint64_t* const object = words(3 + text.size() / 8 + 1);
    std::uint64_t hash = 5381;
    for (const char c : text) hash = hash * 33 + static_cast<unsigned char>(c);
    object[1] = is_hashed ? hash | std::uint64_t{1} << 63 : 0;
    object[2] = text.size();
    std::memcpy(object + 3, text.data(), text.size());
    return address(object);
  }
  std::uint64_t class_of(std::uint64_t name) {
    std::uint64_t* const object = words(2);
    object[1] = name;
    return address(object);
  }
  std::uint64_t built_in(std::uint64_t name) {
    std::uint64_t* const object = words(3);
    object[0] = 1;
    object[1] = name;
    return address(object);
  }
  // The line of instruction i is kFirstLine + i.
  std::uint64_t function(std::uint64_t name, std::uint64_t file, std::uint64_t scope = 0) {
    std::uint64_t* const object = words(30);
    std::uint64_t* const instructions = words(std::size_t{kInstructions} * kInstructionWords);
    object[0] = 2;
    object[1] = name;
    object[2] = scope;
    put(object, layout_.instruction_count, kInstructions);
    put(object, layout_.instructions, address(instructions));
    put(object, layout_.file, file);
    put(object, layout_.file + 8, kFirstLine);
    for (std::uint32_t i = 0; i < kInstructions; ++i) {
      instructions[i * kInstructionWords + 3] = kFirstLine + i;
    }
    return address(object);
  }
  std::uint64_t instruction(std::uint64_t function, std::uint32_t index) const {
    std::uint64_t first = 0;
    std::memcpy(&first, at(function + layout_.instructions), sizeof first);
    return first + std::uint64_t{index} * kInstructionWords * 8;
  }

  // Calls `function`, from the frame that was the innermost before. Returns the new one.
  std::uint64_t call(std::uint64_t function, std::uint64_t instruction, bool is_first = false) {
    std::uint64_t* const frame = words(10);
    frame[0] = instruction;
    frame[3] = function;
    frame[5] = is_first ? 1 << 17 : 0;
    frame[6] = current_;
    current_ = address(frame);
    return current_;
  }

  PhpRuntime runtime() const {
    return {.layout = layout_, .current_frame = address(&current_), .loop = {}};
  }
  static unwind::ImageReader reader() { return {&read, nullptr}; }

 private:
  template <typename T>
  static void put(std::uint64_t* object, std::uint32_t offset, T value) {
    std::memcpy(reinterpret_cast<char*>(object) + offset, &value, sizeof value);
  }
  static bool read(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
    PageCache pages;
    ProbedObjects memory(pages);
    for (std::byte& byte : out) {
      if (!memory.read_value(address++, byte)) return false;
    }
    return true;
  }

  PhpLayout layout_;
  std::uint64_t current_ = 0;
  std::size_t used_ = 0;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(1 << 18);
};

}  // namespace swipr::runtimes
