// Demangled Swift names, from the program swift-demangle if it is installed: there is no library
// for this mangling.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::symbolize {

bool is_swift_name(std::string_view name);

// Shape: parallel to `names`, which have no line ends. None: no such program in PATH, or it failed.
// Blocks: as long as the program takes, a few microseconds per name.
std::optional<std::vector<std::string>> demangle_swift(std::span<const std::string_view> names);

}  // namespace swipr::symbolize
