// Readable names of linkage names: C++ (Itanium ABI), Rust (legacy and v0), D.
#pragma once

#include <optional>
#include <string>

namespace swipr::symbolize {

// "_Z3foov" → "foo()". None: not mangled, damaged, or too long.
// Thread: any. Bounds: 64 KiB of name and of text.
std::optional<std::string> find_readable_name(const std::string& name);

// The same, or the name as it is.
std::string demangle(const std::string& name);

// A demangled name without what makes it long: template arguments, parameters, return type,
// "[abi:…]", inline namespaces of the standard library. "std::map<int, int>::insert(int const&)"
// → "std::map::insert"; "<Vec<T> as Drop>::drop" → "<Vec as Drop>::drop". Other names stay.
std::string shorten(std::string_view name);

}  // namespace swipr::symbolize
