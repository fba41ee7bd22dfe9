// Symbols that are only in the symbol table of a file, not in its dynamic one.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

// The value of the data object with that name and size. 0: none, or the file cannot be read.
// Context: any thread, not in a handler.  Allocates: never.
std::uint64_t find_object_in_file(const char* path, std::string_view name,
                                  std::uint64_t size) noexcept;

}  // namespace swipr::agent
