// Classes whose methods are written in C: those that Ruby exports a variable of. How a class keeps
// its name differs between versions; the variables do not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::size_t kRubyClasses = 43;

// Where the variables are. A value: copy it.
struct RubyClasses {
  std::uint64_t base = 0;                               // the image's load bias
  std::array<std::uint32_t, kRubyClasses> variables{};  // from there; 0: it has none
};

// Of a mapped image, as for find_exported.
// Context: control thread.  Allocates: never.
void find_ruby_classes(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                       unwind::ImageReader reader, RubyClasses& out) noexcept;

// "Integer#" for methods of its objects, "Process." for methods of itself; nothing if that class is
// none of these. `owner`: the class that has the method, any number.
void append_ruby_class(const RubyClasses& classes, ObjectPieces& reader, std::uint64_t owner,
                       BoundedText<1024>& out) noexcept;

}  // namespace swipr::runtimes
