#include "symbolize/signatures/dwarf_types.h"

#include <dwarf.h>

#include <array>
#include <utility>

namespace swipr::symbolize {
namespace {

constexpr int kMaxChain = 32;  // typedefs and qualifiers
constexpr int kMaxTextDepth = 16;
constexpr std::size_t kMaxTextBytes = 200;
constexpr std::size_t kMaxEnumerators = 512;
constexpr std::uint64_t kPointerBytes = 8;

bool is_transparent(int tag) {
  return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
         tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

// "decltype(nullptr)" is the only unspecified type that values have.
bool is_address(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
         tag == DW_TAG_rvalue_reference_type || tag == DW_TAG_unspecified_type;
}

ValueKind kind_of(std::uint64_t encoding, std::string_view name) {
  switch (encoding) {
    case DW_ATE_boolean:
      return ValueKind::kBoolean;
    case DW_ATE_signed:
      return ValueKind::kSigned;
    case DW_ATE_signed_char:
      return name == "char" ? ValueKind::kCharacter : ValueKind::kSigned;
    case DW_ATE_unsigned_char:  // char with -funsigned-char, too
      return name == "char" ? ValueKind::kCharacter : ValueKind::kUnsigned;
    case DW_ATE_unsigned:
    case DW_ATE_UTF:
      return ValueKind::kUnsigned;
    default:
      return ValueKind::kUnknown;
  }
}

bool is_signed_encoding(std::uint64_t encoding) {
  return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

}  // namespace

std::optional<std::uint64_t> find_number(Dwarf_Die die, unsigned int attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, attribute, &found) == nullptr) return std::nullopt;
  if (dwarf_formudata(&found, &value) != 0) return std::nullopt;
  return value;
}

bool has_flag(Dwarf_Die die, unsigned int attribute) {
  Dwarf_Attribute found;
  bool value = false;
  return dwarf_attr_integrate(&die, attribute, &found) != nullptr &&
         dwarf_formflag(&found, &value) == 0 && value;
}

std::optional<Dwarf_Die> find_reference(Dwarf_Die die, unsigned int attribute) {
  Dwarf_Attribute found;
  Dwarf_Die target;
  if (dwarf_attr_integrate(&die, attribute, &found) == nullptr) return std::nullopt;
  if (dwarf_formref_die(&found, &target) == nullptr) return std::nullopt;
  return target;
}

bool is_record(Dwarf_Die type) {
  const int tag = dwarf_tag(&type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

std::optional<std::uint64_t> find_bit_offset(Dwarf_Die member, std::uint64_t bytes) {
  std::uint64_t offset = 0;
  Dwarf_Attribute attribute;
  if (dwarf_hasattr(&member, DW_AT_data_bit_offset) != 0) {
    return find_number(member, DW_AT_data_bit_offset);
  }
  if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) != nullptr) {
    Dwarf_Word value = 0;
    if (dwarf_formudata(&attribute, &value) != 0 || value > ~std::uint64_t{0} / 16) {
      return std::nullopt;
    }
    offset = value * 8;
  }
  const auto bits = find_number(member, DW_AT_bit_size);
  const auto from_end = find_number(member, DW_AT_bit_offset);  // DWARF 3 counts from the top
  if (!bits || !from_end) return offset;
  const std::uint64_t storage = find_number(member, DW_AT_byte_size).value_or(bytes) * 8;
  if (storage > 128 || *bits > storage || *from_end > storage - *bits) return std::nullopt;
  return offset + storage - *from_end - *bits;
}

std::string_view DwarfTypes::name_of(Dwarf_Die die) const {
  Dwarf_Attribute attribute;
  const char* name =
      strings_->checked(dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute)));
  return name == nullptr ? std::string_view() : std::string_view(name);
}

std::optional<Dwarf_Die> DwarfTypes::bare_type_of(Dwarf_Die die) const {
  for (int step = 0; step < kMaxChain; ++step) {
    const auto type = find_reference(die, DW_AT_type);
    if (!type) return std::nullopt;
    die = *type;
    if (!is_transparent(dwarf_tag(&die))) return die;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> DwarfTypes::size_of(Dwarf_Die type, int depth) const {
  if (const auto bytes = find_number(type, DW_AT_byte_size)) return bytes;
  if (is_address(dwarf_tag(&type))) return kPointerBytes;
  auto element = bare_type_of(type);
  if (dwarf_tag(&type) == DW_TAG_ptr_to_member_type) {
    const bool is_function = element && dwarf_tag(&*element) == DW_TAG_subroutine_type;
    return is_function ? 2 * kPointerBytes : kPointerBytes;
  }
  if (dwarf_tag(&type) != DW_TAG_array_type || !element || depth > kMaxChain) return std::nullopt;
  auto bytes = size_of(*element, depth + 1);
  for_children(type, *limit_, [&](Dwarf_Die range) {
    if (dwarf_tag(&range) != DW_TAG_subrange_type || !bytes) return true;
    auto count = find_number(range, DW_AT_count);
    if (const auto last = find_number(range, DW_AT_upper_bound); !count && last) count = *last + 1;
    const bool is_known = count && (*count == 0 || *bytes <= (std::uint64_t{1} << 40) / *count);
    bytes = is_known ? std::optional(*bytes * *count) : std::nullopt;
    return true;
  });
  return bytes;
}

std::string DwarfTypes::text_of_type(Dwarf_Die die, int depth) const {
  const auto type = find_reference(die, DW_AT_type);
  if (!type) return "void";
  if (depth > kMaxTextDepth) return "…";
  std::string text = own_text(*type, depth);
  if (text.size() <= kMaxTextBytes) return text;
  return text.substr(0, kMaxTextBytes) + "…";
}

std::string DwarfTypes::own_text(Dwarf_Die type, int depth) const {
  const std::string_view name = name_of(type);
  if (!name.empty()) return std::string(name);
  const auto target = [&] { return text_of_type(type, depth + 1); };
  const auto qualified = [&](const char* word) {
    std::string text = target();
    const bool is_behind = text.ends_with('*') || text.ends_with('&');
    return is_behind ? text + " " + word : word + (" " + text);
  };
  switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
      return target() + "*";
    case DW_TAG_reference_type:
      return target() + "&";
    case DW_TAG_rvalue_reference_type:
      return target() + "&&";
    case DW_TAG_const_type:
      return qualified("const");
    case DW_TAG_volatile_type:
      return qualified("volatile");
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
      return target();
    case DW_TAG_array_type:
      return target() + "[]";
    case DW_TAG_subroutine_type:
      return "function";
    case DW_TAG_ptr_to_member_type:
      return "member pointer";
    case DW_TAG_enumeration_type:
      return "enum";
    case DW_TAG_union_type:
      return "union";
    default:
      return "struct";
  }
}

void DwarfTypes::add_enumerators(Dwarf_Die type, Value& value) const {
  for_children(type, *limit_, [&](Dwarf_Die child) {
    Dwarf_Attribute attribute;
    Dwarf_Sword number = 0;
    if (dwarf_tag(&child) == DW_TAG_enumerator &&
        dwarf_attr(&child, DW_AT_const_value, &attribute) != nullptr &&
        dwarf_formsdata(&attribute, &number) == 0) {
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - value.bits);
      value.enumerators.emplace_back(static_cast<std::uint64_t>(number) & mask, name_of(child));
    }
    return value.enumerators.size() < kMaxEnumerators;
  });
}

std::optional<Value> DwarfTypes::scalar(Dwarf_Die type) const {
  const int tag = dwarf_tag(&type);
  const auto bytes = size_of(type);
  if (!bytes || *bytes == 0 || *bytes > 16) return std::nullopt;
  Value value;
  value.bits = static_cast<std::uint8_t>(*bytes * 8);
  const std::uint64_t encoding = find_number(type, DW_AT_encoding).value_or(0);
  if (is_address(tag)) {
    value.kind = ValueKind::kPointer;
    value.string = string_behind(type);
    return *bytes == kPointerBytes ? std::optional(value) : std::nullopt;
  }
  if (tag == DW_TAG_ptr_to_member_type) {
    value.kind = ValueKind::kPointer;
    return value;
  }
  if (*bytes != 1 && *bytes != 2 && *bytes != 4 && *bytes != 8 && *bytes != 16) return std::nullopt;
  if (tag == DW_TAG_base_type) {
    value.kind = kind_of(encoding, name_of(type));
    return value;
  }
  if (tag != DW_TAG_enumeration_type || *bytes > 8) return std::nullopt;
  const auto underlying = bare_type_of(type);
  value.kind = ValueKind::kEnumeration;
  value.is_signed = is_signed_encoding(
      underlying ? find_number(*underlying, DW_AT_encoding).value_or(0) : encoding);
  add_enumerators(type, value);
  return value;
}

// Of a pointer to characters, or a reference to an object that has a string.
StringPlace DwarfTypes::string_behind(Dwarf_Die pointer) const {
  const auto target = bare_type_of(pointer);
  if (!target) return StringPlace::kNone;
  const int tag = dwarf_tag(&pointer);
  Dwarf_Die type = *target;
  if (tag != DW_TAG_pointer_type) return string_place(type);
  const std::uint64_t encoding = find_number(type, DW_AT_encoding).value_or(0);
  const bool is_character = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char ||
                            encoding == DW_ATE_UTF || name_of(type) == "char8_t";
  const bool is_string = dwarf_tag(&type) == DW_TAG_base_type && is_character && size_of(type) == 1;
  return is_string ? StringPlace::kAddress : StringPlace::kNone;
}

// std::string of libstdc++ (not the one that is a single pointer), string views of any library,
// &str of Rust: an address and a size, in either order.
StringPlace DwarfTypes::string_place(Dwarf_Die type) const {
  const std::string_view name = name_of(type);
  const bool is_string = name.starts_with("basic_string<char,");
  const bool is_view = name.starts_with("basic_string_view<char,") || name == "&str";
  if (!is_record(type) || (!is_string && !is_view)) return StringPlace::kNone;
  std::array<bool, 2> has_address{}, has_size{};  // at 0 and 8
  for_children(type, *limit_, [&](Dwarf_Die member) {
    const auto inner = bare_type_of(member);
    if (dwarf_tag(&member) != DW_TAG_member || !inner) return true;
    const auto offset = find_bit_offset(member, 0);
    if (!offset || (*offset != 0 && *offset != 64)) return true;
    Dwarf_Die at = *inner;
    const bool is_holder = is_record(at) && name_of(member) == "_M_dataplus";
    const auto encoding = find_number(at, DW_AT_encoding);
    has_address[*offset / 64] |= is_holder || dwarf_tag(&at) == DW_TAG_pointer_type;
    has_size[*offset / 64] |= encoding == DW_ATE_unsigned && size_of(at) == 8;
    return true;
  });
  const auto bytes = size_of(type);
  if (bytes != (is_string ? 32u : 16u)) return StringPlace::kNone;
  if (has_address[0] && has_size[1]) return StringPlace::kAddressSizePlace;
  return has_size[0] && has_address[1] ? StringPlace::kSizeAddressPlace : StringPlace::kNone;
}

}  // namespace swipr::symbolize
