// Lua states and a native stack in this process's memory, laid out as Lua 5.4.4 does it.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "preload/runtimes/lua/lua_frames.h"

namespace swipr::runtimes {

class LuaMemory {
 public:
  static constexpr Range<std::uint64_t> kLoop = {0x55'0000'1000, 0x55'0000'4000};
  static constexpr std::uint64_t kLoopPc = kLoop.begin + 0x100;
  static constexpr std::uint64_t kOtherPc = kLoop.end + 0x100;
  static constexpr std::uint64_t kProtectedPc = kLoop.end + 0x900;

  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  static std::uint64_t& word(std::uint64_t at) { return *reinterpret_cast<std::uint64_t*>(at); }
  std::uint64_t words(std::size_t count) {
    if (used_ + count > words_.size()) std::abort();
    used_ += count;
    return address(words_.data() + used_ - count);
  }

  // A text, as short or as long ones are.
  std::uint64_t text(std::string_view characters, bool is_long = false) {
    const std::uint64_t at = words(3 + characters.size() / 8 + 1);
    word(at + 8) = is_long ? std::uint64_t{kLuaLongText} : kLuaShortText | characters.size() << 24;
    word(at + 16) = is_long ? characters.size() : 0;
    std::memcpy(reinterpret_cast<void*>(at + 24), characters.data(), characters.size());
    return at;
  }
  std::uint64_t constant(std::uint64_t text_at) {
    const std::uint64_t at = words(2);
    word(at) = text_at;
    word(at + 8) = kLuaShortText | kLuaIsObject;
    return at;
  }

  // A function of these instructions, each in the line after that of the one before.
  LuaCode& code(std::string_view source, std::int32_t line,
                const std::vector<std::uint32_t>& instructions) {
    auto& out = *reinterpret_cast<LuaCode*>(words(sizeof(LuaCode) / 8));
    out.type = kLuaCodeType;
    out.first_line = line;
    out.instruction_count = out.line_count = static_cast<std::int32_t>(instructions.size());
    out.instructions = words(instructions.size());
    std::memcpy(reinterpret_cast<void*>(out.instructions), instructions.data(),
                instructions.size() * 4);
    out.lines = words(instructions.size());
    std::memset(reinterpret_cast<void*>(out.lines), 1, instructions.size());
    out.source = text(source);
    return out;
  }
  // Where the value of a function is.
  std::uint64_t closure(const LuaCode& code) {
    const std::uint64_t object = words(4);
    word(object + kLuaFunctionAt) = address(&code);
    return value(object, kLuaFunction | kLuaIsObject);
  }
  std::uint64_t value(std::uint64_t contents, std::uint64_t type) {
    const std::uint64_t at = words(2);
    word(at) = contents;
    word(at + 8) = type;
    return at;
  }

  // A thread of that state; 0: the main thread of a new one.
  std::uint64_t thread(std::uint64_t global = 0) {
    const std::uint64_t at = words(26);
    word(at + kLuaTypeAt) = kLuaThread;
    if (global == 0) {
      global = words(64);
      word(global + kLuaMainThread) = at;
    }
    word(at + 24) = global;
    word(at + 32) = base_of(at);
    return at;
  }
  static std::uint64_t global_of(std::uint64_t thread) { return word(thread + 24); }
  static std::uint64_t base_of(std::uint64_t thread) { return thread + 96; }

  // A call from the innermost one of the thread. `done`: instructions that have begun.
  LuaCall& call(std::uint64_t thread, std::uint64_t function, std::uint16_t status,
                std::uint64_t instructions = 0, std::uint64_t done = 0) {
    auto& out = *reinterpret_cast<LuaCall*>(words(8));
    out.function = function;
    out.instruction = instructions + done * 4;
    out.status = status;
    out.previous = word(thread + 32);
    word(out.previous + 24) = word(thread + 32) = address(&out);
    return out;
  }
  LuaCall& call(std::uint64_t thread, const LuaCode& code, std::uint16_t status,
                std::uint64_t done = 1) {
    return call(thread, closure(code), status, code.instructions, done);
  }

  // A native frame inside those before. Its stack pointer.
  std::uint64_t frame(std::uint64_t pc) {
    constexpr std::size_t kFrameWords = 16;
    stack_used_ += kFrameWords;
    if (stack_used_ > stack_.size()) std::abort();
    pcs_.insert(pcs_.begin(), pc);
    stacks_.insert(stacks_.begin(), address(stack_.data() + stack_.size() - stack_used_));
    return stacks_.front();
  }
  // The thread's innermost protected call.
  void protect(std::uint64_t thread) {
    const std::uint64_t at = frame(kProtectedPc);
    word(at + 16) = thread;
    word(at + 32) = word(thread + 88);
    word(thread + 88) = at + 32;
  }

  LuaStack stack() const { return {.pcs = pcs_, .stacks = stacks_}; }
  std::uint64_t stack_of(std::size_t index) const { return stacks_[index]; }

 private:
  alignas(4096) std::array<std::uint64_t, 1 << 17> words_{};
  alignas(4096) std::array<std::uint64_t, 4096> stack_{};
  std::size_t used_ = 0;
  std::size_t stack_used_ = 0;
  std::vector<std::uint64_t> pcs_;
  std::vector<std::uint64_t> stacks_;
};

}  // namespace swipr::runtimes
