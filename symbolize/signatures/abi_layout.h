// How the System V ABI of x86-64 passes a value of a type.
// Source: System V psABI x86-64 1.0, 3.2.3; Itanium C++ ABI, 3.1.2.3 and 1.1 ("non-trivial for the
// purposes of calls").
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "symbolize/base/signature.h"
#include "symbolize/signatures/dwarf_types.h"

namespace swipr::symbolize {

// kNone: nothing is there, or nothing is passed. kElsewhere: the x87 stack.
enum class AbiClass : std::uint8_t { kNone, kInteger, kVector, kElsewhere, kMemory };

struct AbiLayout {
  std::array<AbiClass, 2> words{};  // if the first is kMemory: the value as a whole
  Value value;                      // without registers; a record with its members, if in registers
  bool is_in_memory() const { return words[0] == AbiClass::kMemory; }
  std::size_t count(AbiClass wanted) const {
    return static_cast<std::size_t>((words[0] == wanted) + (words[1] == wanted));
  }
};

// Of a bare type, as its bytes are passed. nullopt: not certain.
std::optional<AbiLayout> find_abi_layout(const DwarfTypes& types, WorkLimit& limit, Dwarf_Die type);

// Whether C++ passes an object of this class as its address, because it may not be copied by bytes.
enum class Passing : std::uint8_t { kByValue, kByAddress, kUnknown };
Passing find_passing(const DwarfTypes& types, WorkLimit& limit, Dwarf_Die record);

}  // namespace swipr::symbolize
