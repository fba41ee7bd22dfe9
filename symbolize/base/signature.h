// The parameters and the result of a function, and where they are when it is called. x86-64.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace swipr::symbolize {

enum class ValueKind : std::uint8_t {
  kUnknown,  // floating-point numbers, vectors, types that are not understood
  kVoid,
  kSigned,
  kUnsigned,
  kBoolean,
  kCharacter,    // char
  kPointer,      // and references; objects that are passed as their address
  kEnumeration,  // has enumerators
  kRecord,       // has members, if it is in registers
};

// Where a string is that a value stands for. `Size` counts bytes.
enum class StringPlace : std::uint8_t {
  kNone,
  kAddress,           // in the register: ends with a zero
  kAddressSize,       // in this register and the next one
  kSizeAddress,       // the same, the size in this one
  kAddressSizePlace,  // in memory, at the address in the register
  kSizeAddressPlace,  // the same, the size first
};

struct Value {
  std::string name;  // empty: none
  std::string type;  // as C++ writes it, without scopes
  ValueKind kind = ValueKind::kUnknown;
  bool is_signed = false;       // of an enumeration
  std::uint8_t bit_offset = 0;  // in its registers
  std::uint8_t bits = 0;        // at most 128
  StringPlace string = StringPlace::kNone;
  // Of its first and second eight bytes: the number of the integer register, in the ABI's order.
  // kNoRegister: in a vector register, on the stack, or not known.
  static constexpr std::int8_t kNoRegister = -1;
  std::array<std::int8_t, 2> registers = {kNoRegister, kNoRegister};
  std::vector<std::pair<std::uint64_t, std::string>> enumerators;  // values as bits
  std::vector<Value> members;                                      // those of members included
};

struct Signature {
  std::vector<Value> parameters;
  bool is_variadic = false;  // more arguments may follow
  Value result;              // register 0 is the first one for integer results
};

}  // namespace swipr::symbolize
