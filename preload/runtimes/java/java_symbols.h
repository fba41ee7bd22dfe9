// Texts of HotSpot: names of classes, methods and files. Source: src/hotspot/share/oops/symbol.hpp.
// Context: control thread.  Allocates: never.  Bounds: 4,096 bytes of a text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"

namespace swipr::runtimes {

enum class JavaText : bool { kPlain, kClass };

// Appends the text of a Symbol. A class is a/b/C in the VM, that of a lambda
// a/b/C$$Lambda+0xADDRESS (11: with a /): it becomes a.b.C, without the address. False: unreadable.
// Defined for the texts of FunctionText.
template <std::size_t kBytes>
bool read_java_symbol(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t symbol,
                      JavaText kind, BoundedText<kBytes>& out) noexcept;

}  // namespace swipr::runtimes
