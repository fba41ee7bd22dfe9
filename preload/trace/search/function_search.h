// Finds a function in a mapped image, and decides whether it can be traced: by its own code, by
// that of its neighbours, and by all branches of the image. Only what an FDE begins with is a
// function.
//
// The image's memory is read as it was before functions were traced (replaced_code.h).
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/trace/plan/plan.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::trace {

// Functions that swipr's own code calls in signal handlers, by their addresses.
using CalledFunctions = std::span<const std::uint64_t>;

class FunctionSearch {
 public:
  // `code`: the image's mappings of code, run-time addresses.
  FunctionSearch(const unwind::BuildResult& image, std::span<const Range<std::uint64_t>> code,
                 unwind::ImageReader reader) noexcept
      : image_(image), code_(code), reader_(reader) {}
  ~FunctionSearch();
  FunctionSearch(const FunctionSearch&) = delete;
  FunctionSearch& operator=(const FunctionSearch&) = delete;

  // kNone: `plan` and function() are valid. Blocks: some 1 ns per byte of the image's code.
  Refusal find(std::uint64_t image_address, CalledFunctions handlers, Plan& plan) noexcept;
  // Its code is a copy, as long as this object.
  const Function& function() const noexcept { return function_; }

 private:
  struct Bytes {
    std::uint8_t* data = nullptr;
    std::size_t size = 0;
  };
  bool copy_code(Range<std::uint64_t> code, Bytes& out) const noexcept;
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const noexcept;
  Refusal check_neighbours(const Plan& plan) noexcept;
  Refusal check_text(const Plan& plan) const noexcept;

  const unwind::BuildResult& image_;
  std::span<const Range<std::uint64_t>> code_;
  unwind::ImageReader reader_;
  Bytes bytes_;
  Function function_;
};

}  // namespace swipr::trace
