#include "symbolize/signatures/abi_layout.h"

#include <dwarf.h>

#include <algorithm>
#include <string>
#include <utility>

namespace swipr::symbolize {
namespace {

constexpr std::uint64_t kMaxRegisterBytes = 16;
constexpr std::uint64_t kMaxVectorBytes = 64;
constexpr std::size_t kMaxMembers = 64;
constexpr int kMaxDepth = 16;

// Source: psABI, rule 4.
AbiClass merge(AbiClass one, AbiClass other) {
  if (one == other || other == AbiClass::kNone) return one;
  if (one == AbiClass::kNone) return other;
  if (one == AbiClass::kMemory || other == AbiClass::kMemory) return AbiClass::kMemory;
  if (one == AbiClass::kInteger || other == AbiClass::kInteger) return AbiClass::kInteger;
  return AbiClass::kMemory;
}

struct Scalar {
  Value value;
  AbiClass classes = AbiClass::kInteger;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;
  bool has_second = false;  // a second register, of the same class
};

bool is_vector(Dwarf_Die type) {
  return dwarf_tag(&type) == DW_TAG_array_type && has_flag(type, DW_AT_GNU_vector);
}

class LayoutReader {
 public:
  LayoutReader(const DwarfTypes& types, WorkLimit& limit) : types_(types), limit_(limit) {}

  std::optional<AbiLayout> read(Dwarf_Die type) {
    AbiLayout layout;
    if (!is_record(type)) {
      const auto scalar = find_scalar(type);
      if (!scalar) return std::nullopt;
      layout.value = scalar->value;
      layout.words = {scalar->classes, scalar->has_second ? scalar->classes : AbiClass::kNone};
      return layout;
    }
    const auto bytes = types_.size_of(type);
    if (!bytes || dwarf_hasattr(&type, DW_AT_declaration) != 0) return std::nullopt;
    layout.value.kind = ValueKind::kRecord;
    bytes_ = *bytes;
    if (*bytes > kMaxVectorBytes) {
      words_[0] = AbiClass::kMemory;
    } else if (!add_members(type, 0, "",
                            0)) {  // a record of one long vector may be in its register
      return std::nullopt;
    }
    if (*bytes > kMaxRegisterBytes || std::count(words_.begin(), words_.end(), AbiClass::kMemory)) {
      words_ = {AbiClass::kMemory, AbiClass::kNone};
      members_.clear();
    }
    layout.words = words_;
    layout.value.members = std::move(members_);
    layout.value.bits = static_cast<std::uint8_t>(std::min(*bytes, kMaxRegisterBytes) * 8);
    return layout;
  }

 private:
  std::optional<Scalar> find_scalar(Dwarf_Die type) {
    Scalar scalar;
    const auto bytes = types_.size_of(type);
    const std::uint64_t encoding = find_number(type, DW_AT_encoding).value_or(0);
    const bool is_number = encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
                           encoding == DW_ATE_decimal_float;
    scalar.bytes = scalar.alignment = bytes.value_or(0);
    // Shorter vectors are passed as integers by some compilers, longer ones in memory.
    if (is_vector(type)) {
      scalar.classes = AbiClass::kVector;
      return scalar.bytes == 8 || scalar.bytes == 16 ? std::optional(scalar) : std::nullopt;
    }
    if (dwarf_tag(&type) == DW_TAG_base_type && is_number) {
      const bool is_x87 = types_.name_of(type).find("long double") != std::string_view::npos;
      const bool is_complex = encoding == DW_ATE_complex_float;
      scalar.classes = is_x87 ? AbiClass::kElsewhere : AbiClass::kVector;
      if (is_complex) scalar.alignment /= 2;
      scalar.has_second = is_complex && scalar.bytes == kMaxRegisterBytes;
      return is_x87 || scalar.bytes <= kMaxRegisterBytes ? std::optional(scalar) : std::nullopt;
    }
    auto value = types_.scalar(type);
    if (!value || value->kind == ValueKind::kUnknown) return std::nullopt;
    scalar.has_second = scalar.bytes > 8;
    // A pointer to a member function is two words.
    if (dwarf_tag(&type) == DW_TAG_ptr_to_member_type) scalar.alignment = 8;
    scalar.value = *std::move(value);
    return scalar;
  }

  void classify(std::uint64_t begin_bit, std::uint64_t bits, AbiClass classes) {
    if (bits == 0 || bytes_ > kMaxRegisterBytes) return;
    for (std::uint64_t word = begin_bit / 64; word <= (begin_bit + bits - 1) / 64; ++word) {
      if (word < words_.size()) words_[word] = merge(words_[word], classes);
    }
  }

  bool add_scalar(Dwarf_Die type, std::uint64_t bit, std::string name,
                  std::optional<std::uint64_t> field_bits) {
    const auto scalar = find_scalar(type);
    if (!scalar || scalar->bytes == 0) return false;
    const std::uint64_t bits = field_bits.value_or(scalar->bytes * 8);
    if (bit + bits > bytes_ * 8) return false;
    const bool is_aligned =
        field_bits || (scalar->alignment != 0 && bit % (scalar->alignment * 8) == 0);
    classify(bit, bits, is_aligned ? scalar->classes : AbiClass::kMemory);
    if (bytes_ > kMaxRegisterBytes) return true;
    Value member = scalar->value;
    member.name = std::move(name);
    member.bit_offset = static_cast<std::uint8_t>(bit);
    member.bits = static_cast<std::uint8_t>(bits);
    member.string = StringPlace::kNone;
    members_.push_back(std::move(member));
    return members_.size() <= kMaxMembers;
  }

  bool add_array(Dwarf_Die type, std::uint64_t bit, const std::string& name, int depth) {
    const auto element = types_.bare_type_of(type);
    const auto bytes = element ? types_.size_of(*element) : std::nullopt;
    const auto all = types_.size_of(type);
    if (!all) return true;  // a flexible array
    if (!bytes || *bytes == 0) return *all == 0;
    for (std::uint64_t index = 0; index < *all / *bytes; ++index) {
      if (index > kMaxVectorBytes) return false;
      if (!add(*element, bit + index * *bytes * 8, name + "[" + std::to_string(index) + "]", {},
               depth)) {
        return false;
      }
    }
    return true;
  }

  bool add(Dwarf_Die type, std::uint64_t bit, const std::string& name,
           std::optional<std::uint64_t> field_bits, int depth) {
    if (depth > kMaxDepth || limit_.step() || bit > bytes_ * 8) return false;
    if (is_record(type)) return add_members(type, bit, name.empty() ? "" : name + ".", depth + 1);
    if (dwarf_tag(&type) == DW_TAG_array_type && !is_vector(type)) {
      return add_array(type, bit, name, depth + 1);
    }
    return add_scalar(type, bit, name, field_bits);
  }

  bool add_members(Dwarf_Die record, std::uint64_t begin, const std::string& prefix, int depth) {
    bool is_certain = dwarf_hasattr(&record, DW_AT_declaration) == 0;
    for_children(record, limit_, [&](Dwarf_Die child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_variant_part) is_certain = false;
      const bool is_base = tag == DW_TAG_inheritance;
      // Static members: DWARF 4 has them among the others.
      const bool is_static = dwarf_hasattr(&child, DW_AT_external) != 0 ||
                             dwarf_hasattr(&child, DW_AT_declaration) != 0;
      if ((tag != DW_TAG_member && !is_base) || is_static) return is_certain;
      const auto type = types_.bare_type_of(child);
      const auto bytes = type ? types_.size_of(*type) : std::nullopt;
      const auto bit = find_bit_offset(child, bytes.value_or(0));
      is_certain = type && bit && *bit <= bytes_ * 8 &&
                   add(*type, begin + *bit,
                       is_base ? prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1)
                               : prefix + std::string(types_.name_of(child)),
                       find_number(child, DW_AT_bit_size), depth);
      return is_certain;
    });
    return is_certain && !limit_.exceeded();
  }

  const DwarfTypes& types_;
  WorkLimit& limit_;
  std::uint64_t bytes_ = 0;
  std::array<AbiClass, 2> words_{};
  std::vector<Value> members_;
};

// --- whether objects are passed as their address
class PassingReader {
 public:
  PassingReader(const DwarfTypes& types, WorkLimit& limit) : types_(types), limit_(limit) {}

  Passing read(Dwarf_Die record, int depth) {
    const auto stated = find_number(record, DW_AT_calling_convention);
    if (stated == DW_CC_pass_by_reference) return Passing::kByAddress;
    if (stated == DW_CC_pass_by_value) return Passing::kByValue;
    if (depth > kMaxDepth || dwarf_hasattr(&record, DW_AT_declaration) != 0) {
      return Passing::kUnknown;
    }
    Passing result = Passing::kByValue;
    bool has_deleted = false;
    for_children(record, limit_, [&](Dwarf_Die child) {
      const Passing part = read_child(record, child, depth, has_deleted);
      if (part == Passing::kByAddress || result == Passing::kByValue) result = part;
      return result != Passing::kByAddress;
    });
    if (limit_.exceeded() || (result == Passing::kByValue && has_deleted)) return Passing::kUnknown;
    return result;
  }

 private:
  Passing read_child(Dwarf_Die record, Dwarf_Die child, int depth, bool& has_deleted) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) return read_function(record, child, has_deleted);
    const bool is_base = tag == DW_TAG_inheritance;
    if (is_base && find_number(child, DW_AT_virtuality).value_or(0) != 0)
      return Passing::kByAddress;
    if ((tag != DW_TAG_member && !is_base) || dwarf_hasattr(&child, DW_AT_external) != 0 ||
        dwarf_hasattr(&child, DW_AT_declaration) != 0) {
      return Passing::kByValue;
    }
    if (types_.name_of(child).starts_with("_vptr")) return Passing::kByAddress;
    auto type = types_.bare_type_of(child);
    for (int step = 0; type && dwarf_tag(&*type) == DW_TAG_array_type && step < kMaxDepth; ++step) {
      type = types_.bare_type_of(*type);
    }
    if (!type) return Passing::kUnknown;
    return is_record(*type) ? read(*type, depth + 1) : Passing::kByValue;
  }

  // Functions that the compiler provides follow from the members.
  Passing read_function(Dwarf_Die record, Dwarf_Die function, bool& has_deleted) {
    if (find_number(function, DW_AT_virtuality).value_or(0) != 0) return Passing::kByAddress;
    const std::string_view name = types_.name_of(function);
    const bool is_special =
        name.starts_with('~') || (is_constructor(record, name) && takes_one_of(record, function));
    if (!is_special || has_flag(function, DW_AT_artificial)) return Passing::kByValue;
    if (has_flag(function, DW_AT_deleted)) {
      has_deleted = true;
      return Passing::kByValue;
    }
    const bool is_default =
        find_number(function, DW_AT_defaulted).value_or(DW_DEFAULTED_no) == DW_DEFAULTED_in_class;
    return is_default ? Passing::kByValue : Passing::kByAddress;
  }

  bool is_constructor(Dwarf_Die record, std::string_view name) const {
    const std::string_view own = types_.name_of(record);
    return !name.empty() && name.substr(0, name.find('<')) == own.substr(0, own.find('<'));
  }

  // A constructor that copies or moves.
  bool takes_one_of(Dwarf_Die record, Dwarf_Die function) {
    std::size_t count = 0;
    bool is_same = false;
    for_children(function, limit_, [&](Dwarf_Die parameter) {
      if (dwarf_tag(&parameter) != DW_TAG_formal_parameter) return true;
      if (++count != 2) return true;
      auto type = types_.bare_type_of(parameter);
      const int tag = type ? dwarf_tag(&*type) : 0;
      if (tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) return false;
      auto target = types_.bare_type_of(*type);
      is_same = target && dwarf_dieoffset(&*target) == dwarf_dieoffset(&record);
      return true;
    });
    return is_same && count == 2;
  }

  const DwarfTypes& types_;
  WorkLimit& limit_;
};

}  // namespace

std::optional<AbiLayout> find_abi_layout(const DwarfTypes& types, WorkLimit& limit,
                                         Dwarf_Die type) {
  return LayoutReader(types, limit).read(type);
}

Passing find_passing(const DwarfTypes& types, WorkLimit& limit, Dwarf_Die record) {
  return PassingReader(types, limit).read(record, 0);
}

}  // namespace swipr::symbolize
