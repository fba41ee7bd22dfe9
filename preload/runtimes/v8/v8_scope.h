// The description of a function's scope: its names, and where it begins in the source.
// Context: control thread.  Allocates: never.
// Source: src/objects/scope-info.tq, 10.2 to 14.6.
#pragma once

#include <cstdint>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/v8/v8_layout.h"

namespace swipr::runtimes {

struct V8Scope {
  std::uint64_t name = 0;      // a tagged pointer to a string; 0: none
  std::uint64_t inferred = 0;  // likewise
  std::uint32_t begin = 0;     // position in the source
  std::uint8_t type = 0;       // V8Traits
};

// False: unreadable, or not what a scope should be.
bool read_v8_scope(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t scope,
                   V8Scope& out) noexcept;

}  // namespace swipr::runtimes
