// Split DWARF: the .dwo file that a skeleton unit refers to.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>

#include "symbolize/debug_strings.h"

namespace swipr::symbolize {

// The unit in the .dwo file, which must be where the compiler wrote it. Its strings are added to
// `strings`. None: the unit is not a skeleton, or its file cannot be used; then `missing`, if still
// empty, names that file. libdw checks that the file belongs to the skeleton. Packages (.dwp) are
// not read by libdw before 0.191.
std::optional<Dwarf_Die> find_split_unit(Dwarf_Die* skeleton, DebugStrings* strings,
                                         std::string* missing);

}  // namespace swipr::symbolize
