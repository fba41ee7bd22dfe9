// The parameters of a function, from its DWARF and the calling convention.
#pragma once

#include <elfutils/libdw.h>

#include <optional>

#include "common/core/addresses.h"
#include "symbolize/base/signature.h"
#include "symbolize/signatures/dwarf_types.h"

namespace swipr::symbolize {

// `function` is a subprogram that begins at `entry`. From the first parameter on whose place is not
// certain, none has a register. nullopt: the language, or the compiler's options, leave it open.
std::optional<Signature> read_signature(const DebugStrings& strings, WorkLimit& limit,
                                        Dwarf_Die function, ImageAddr entry);

}  // namespace swipr::symbolize
