// Machine code in this process's memory with artificial CFI, and the agent's reader of memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/agent/proc/proc_memory.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::agent {

class CodePageTest : public testing::Test {
 protected:
  explicit CodePageTest(std::size_t bytes) : bytes_(bytes) {
    EXPECT_TRUE(memory_.open());
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    code_ = static_cast<std::uint8_t*>(mapped);
  }
  ~CodePageTest() override {
    unmap();
    if (built_.table != nullptr) unwind::destroy_table(built_.table);
    memory_.close();
  }

  // Offsets are from the beginning of the code.
  std::uint64_t at(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(code_) + offset;
  }
  // A direct call whose return address is at `end`.
  void put_call_before(std::uint64_t end, std::uint64_t target) {
    if constexpr (unwind::kElfMachine == EM_X86_64) {
      const auto distance = static_cast<std::int32_t>(target - end);
      code_[end - 5] = 0xe8;
      std::memcpy(code_ + end - 4, &distance, sizeof distance);
    } else {
      const std::uint32_t distance = static_cast<std::uint32_t>(target - (end - 4)) >> 2;
      const std::uint32_t branch = 0x94000000 | (distance & 0x3ffffff);  // bl
      std::memcpy(code_ + end - 4, &branch, sizeof branch);
    }
  }
  // The table of `image`, whose text is the code.
  void build_table(unwind::CfiImage& image) {
    built_ = image.build();
    range_ = {.start = at(0),
              .end = at(bytes_),
              .load_bias = at(0) - unwind::CfiImage::kText,
              .table = built_.table};
  }
  void unmap() {
    if (code_ != nullptr) ::munmap(code_, bytes_);
    code_ = nullptr;
  }

  const std::size_t bytes_;
  ProcMemory memory_;
  std::uint8_t* code_ = nullptr;
  unwind::BuildResult built_;
  unwind::CodeRange range_;
};

}  // namespace swipr::agent
