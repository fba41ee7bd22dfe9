// All functions of a file that have call frame information, and the bytes of its code.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "preload/trace/plan/plan.h"
#include "preload/unwind/base/image_reader.h"
#include "tests/unit/preload/unwind/mapped_file.h"

namespace swipr::trace {

class FileFunctions {
 public:
  explicit FileFunctions(const std::string& path);
  const std::vector<Function>& functions() const { return functions_; }  // sorted
  std::span<const std::uint8_t> text() const { return text_; }
  Range<std::uint64_t> addresses() const { return {text_begin_, text_begin_ + text_.size()}; }
  unwind::ImageReader reader() { return file_.reader(); }

 private:
  void read_functions(std::span<const std::byte> section, std::uint64_t address,
                      std::uint64_t load_bias);

  unwind::MappedFile file_;
  std::vector<std::uint8_t> text_;
  std::uint64_t text_begin_ = 0;
  std::vector<Function> functions_;
};

// Paths of the loaded libraries whose name begins with one of `names`.
std::vector<std::string> libraries(const std::vector<std::string>& names);

}  // namespace swipr::trace
