#include "symbolize/signatures/signature_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "symbolize/signatures/abi_layout.h"

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxParameters = 64;
constexpr std::size_t kIntegerRegisters = 6;
constexpr std::size_t kVectorRegisters = 8;
constexpr int kMaxOrigins = 16;
constexpr unsigned kFirstVector = 17;  // xmm0
// DWARF's numbers of rdi, rsi, rdx, rcx, r8 and r9.  Source: psABI, figure 3.36.
constexpr std::array<unsigned, kIntegerRegisters> kIntegerNumbers = {5, 4, 1, 2, 8, 9};

enum class Language : std::uint8_t { kOther, kC, kRust };

// Newer than libdw's names: of C++ 17, C++ 20 and C 17.
constexpr int kNewerC[] = {0x2a, 0x2b, 0x2c};

Language language_of(Dwarf_Die* unit) {
  const int language = dwarf_srclang(unit);
  if (std::ranges::find(kNewerC, language) != std::end(kNewerC)) return Language::kC;
  switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_ObjC:
    case DW_LANG_ObjC_plus_plus:
      return Language::kC;
    case DW_LANG_Rust:
      return Language::kRust;
    default:
      return Language::kOther;
  }
}

// What the location of a parameter says about the first instruction.
struct EntryPlace {
  // kNone: it is not used, or a constant there. kOther: it is used later.
  enum class Kind : std::uint8_t { kNone, kOther, kInteger, kVector, kFrame } kind = Kind::kNone;
  std::size_t number = 0;      // of the register, in the ABI's order
  bool holds_address = false;  // of the value
};

EntryPlace place_of_register(unsigned number, bool holds_address) {
  const auto found = std::find(kIntegerNumbers.begin(), kIntegerNumbers.end(), number);
  if (found != kIntegerNumbers.end()) {
    return {EntryPlace::Kind::kInteger, static_cast<std::size_t>(found - kIntegerNumbers.begin()),
            holds_address};
  }
  const bool is_of_vector = number - kFirstVector < kVectorRegisters && !holds_address;
  return is_of_vector ? EntryPlace{EntryPlace::Kind::kVector, number - kFirstVector}
                      : EntryPlace{EntryPlace::Kind::kOther};
}

EntryPlace place_of(std::span<const Dwarf_Op> operations) {
  const unsigned first = operations.front().atom;
  const unsigned last = operations.back().atom;
  const bool is_single = operations.size() == 1;
  if (first >= DW_OP_reg0 && first <= DW_OP_reg31) {
    return place_of_register(first - DW_OP_reg0, false);
  }
  const bool is_value = !is_single && last == DW_OP_stack_value;  // computed from the register
  if (first >= DW_OP_breg0 && first <= DW_OP_breg31 && (is_single || is_value) &&
      operations.front().number == 0) {
    return place_of_register(first - DW_OP_breg0, is_single);
  }
  if (first == DW_OP_fbreg && operations.size() <= 2 && (is_single || last == DW_OP_deref)) {
    return {EntryPlace::Kind::kFrame, 0, !is_single};
  }
  return {is_value ? EntryPlace::Kind::kNone : EntryPlace::Kind::kOther};  // a constant
}

EntryPlace place_at_entry(Dwarf_Die parameter, ImageAddr entry) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(&parameter, DW_AT_location, &attribute) == nullptr) return {};
  if (dwarf_getlocation_addr(&attribute, entry.value, &operations, &count, 1) != 1 || count == 0) {
    return {EntryPlace::Kind::kOther};
  }
  return place_of({operations, count});
}

class SignatureReader {
 public:
  SignatureReader(const DebugStrings& strings, WorkLimit& limit, Dwarf_Die function,
                  ImageAddr entry)
      : strings_(strings),
        types_(strings, limit),
        limit_(limit),
        function_(function),
        entry_(entry) {}

  std::optional<Signature> read() {
    Dwarf_Die declaration = declaration_of(function_);
    Dwarf_Die unit;
    if (dwarf_diecu(&declaration, &unit, nullptr, nullptr) == nullptr) return std::nullopt;
    language_ = language_of(&unit);
    const auto convention = find_number(function_, DW_AT_calling_convention);
    const bool is_usual = convention.value_or(DW_CC_normal) == DW_CC_normal;
    if (language_ == Language::kOther || !is_usual || !has_types(unit)) return std::nullopt;
    const std::string_view producer = text_of(unit, DW_AT_producer);
    drops_unused_ = producer.find("clang") != std::string_view::npos;
    may_be_changed_ = drops_unused_ && !has_flag(function_, DW_AT_external);
    read_result();
    read_parameters();
    // Not optimised, if parameters are on the stack.
    if (may_be_changed_ && !has_frame_ && signature_.result.kind != ValueKind::kVoid) {
      Value unknown;
      unknown.type = std::move(signature_.result.type);
      signature_.result = std::move(unknown);
    }
    if (limit_.exceeded()) return std::nullopt;
    return std::move(signature_);
  }

 private:
  static Dwarf_Die declaration_of(Dwarf_Die function) {
    for (int step = 0; step < kMaxOrigins; ++step) {
      Dwarf_Attribute attribute;
      Dwarf_Die origin;
      if (dwarf_attr(&function, DW_AT_abstract_origin, &attribute) == nullptr ||
          dwarf_formref_die(&attribute, &origin) == nullptr) {
        break;
      }
      function = origin;
    }
    return function;
  }

  std::string_view text_of(Dwarf_Die die, unsigned int name) const {
    Dwarf_Attribute attribute;
    const char* text = strings_.checked(dwarf_formstring(dwarf_attr(&die, name, &attribute)));
    return text == nullptr ? std::string_view() : std::string_view(text);
  }

  // -g1 describes functions without their parameters.
  bool has_types(Dwarf_Die unit) {
    bool has_one = false;
    for_children(unit, limit_, [&](Dwarf_Die child) {
      has_one = dwarf_tag(&child) == DW_TAG_base_type;
      return !has_one;
    });
    return has_one || find_reference(function_, DW_AT_type).has_value();
  }

  // Parameters as they are declared, each with the entry that has its location.
  void list_parameters() {
    Dwarf_Die declaration = declaration_of(function_);
    std::map<Dwarf_Off, Dwarf_Die> instances;
    if (declaration.addr != function_.addr) {
      add_children(function_, [&](Dwarf_Die child) {
        Dwarf_Die origin = declaration_of(child);
        instances.emplace(dwarf_dieoffset(&origin), child);
      });
    }
    add_children(declaration, [&](Dwarf_Die child) {
      const auto instance = instances.find(dwarf_dieoffset(&child));
      parameters_.emplace_back(child, instance == instances.end() ? child : instance->second);
    });
  }

  template <typename Add>
  void add_children(Dwarf_Die function, const Add& add, int depth = 0) {
    for_children(function, limit_, [&](Dwarf_Die child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_formal_parameter) add(child);
      if (tag == DW_TAG_GNU_formal_parameter_pack && depth == 0) add_children(child, add, 1);
      if (tag == DW_TAG_unspecified_parameters) signature_.is_variadic = true;
      return parameters_.size() < kMaxParameters;
    });
  }

  // Rust promises nothing; scalars and references are passed as C does it, the two words of a
  // reference to a slice each on its own.
  bool is_understood(const AbiLayout& layout, Dwarf_Die type) const {
    if (language_ != Language::kRust) return true;
    if (!is_record(type)) return layout.value.bits <= 64;
    const bool is_slice = types_.name_of(type).starts_with('&') && layout.value.bits == 128 &&
                          layout.value.members.size() == 2;
    return is_slice && (next_integer_ + 2 <= kIntegerRegisters);
  }

  // An object that is passed as its address.
  Value address_of(Dwarf_Die type) const {
    Value value;
    value.kind = ValueKind::kPointer;
    value.bits = 64;
    value.string = types_.string_place(type);
    return value;
  }

  // Registers of the words that are integers.
  static void place(Value& value, const AbiLayout& layout, std::size_t next, std::size_t end) {
    for (std::size_t word = 0; word < layout.words.size(); ++word) {
      const bool is_integer = layout.words[word] == AbiClass::kInteger;
      if (is_integer && next < end) value.registers[word] = static_cast<std::int8_t>(next++);
    }
    for (Value& member : value.members) member.registers = value.registers;
    // A string's address and size in two registers.
    if (value.kind != ValueKind::kRecord || value.registers[0] < 0 || value.registers[1] < 0)
      return;
    if (value.string == StringPlace::kAddressSizePlace) value.string = StringPlace::kAddressSize;
    if (value.string == StringPlace::kSizeAddressPlace) value.string = StringPlace::kSizeAddress;
  }

  void read_result() {
    Value& result = signature_.result;
    result.type = types_.text_of_type(function_);
    const auto type = types_.bare_type_of(function_);
    if (!type) {
      const bool is_void = !find_reference(function_, DW_AT_type);
      result.kind = is_void || result.type == "void" ? ValueKind::kVoid : ValueKind::kUnknown;
      is_certain_ = result.kind == ValueKind::kVoid;
      return;
    }
    auto layout = types_.size_of(*type) == 0 ? std::optional(AbiLayout{})
                                             : find_abi_layout(types_, limit_, *type);
    const auto passing = is_record(*type) && language_ == Language::kC
                             ? find_passing(types_, limit_, *type)
                             : Passing::kByValue;
    if (passing == Passing::kByAddress || (layout && layout->is_in_memory())) {
      next_integer_ = 1;  // the caller passes where the result is to be, and gets it back
      const std::string text = std::move(result.type);
      result = address_of(*type);
      result.type = text;
      if (result.string == StringPlace::kNone) result.kind = ValueKind::kRecord;
      result.registers[0] = 0;
      is_certain_ = language_ == Language::kC;
      return;
    }
    is_certain_ = layout && passing == Passing::kByValue && is_understood(*layout, *type);
    if (!is_certain_) return;
    const std::string text = std::move(result.type);
    result = std::move(layout->value);
    result.type = text;
    place(result, *layout, 0, 1);
    if (is_record(*type)) result.string = StringPlace::kNone;
  }

  void read_parameters() {
    list_parameters();
    for (const auto& [parameter, instance] : parameters_) {
      Value value;
      const std::string name(types_.name_of(parameter));
      const std::string type = types_.text_of_type(parameter);
      is_certain_ = is_certain_ && read_parameter(parameter, instance, value);
      if (!is_certain_) value = {};
      value.name = name;
      value.type = type;
      signature_.parameters.push_back(std::move(value));
    }
  }

  bool read_parameter(Dwarf_Die parameter, Dwarf_Die instance, Value& value) {
    const bool is_first = signature_.parameters.empty();
    // Only `this` is one of the parameters that compilers add and that are always passed.
    if (has_flag(parameter, DW_AT_artificial) && !is_first) return false;
    const auto type = types_.bare_type_of(parameter);
    if (!type) return false;
    const EntryPlace place = place_at_entry(instance, entry_);
    has_frame_ = has_frame_ || place.kind == EntryPlace::Kind::kFrame;
    auto layout = find_layout(*type, place);
    if (!layout || !is_understood(*layout, *type)) return false;
    const bool is_address = is_record(*type) && layout->value.kind == ValueKind::kPointer;
    const std::size_t integers = layout->count(AbiClass::kInteger);
    const std::size_t vectors = layout->count(AbiClass::kVector);
    const bool is_in_registers = integers + vectors != 0 &&
                                 next_integer_ + integers <= kIntegerRegisters &&
                                 next_vector_ + vectors <= kVectorRegisters;
    if (!agrees(place, *layout, is_address, is_in_registers)) return false;
    value = std::move(layout->value);
    if (is_record(*type) && !is_address) value.string = types_.string_place(*type);
    if (!is_in_registers) {  // on the stack, or nowhere
      value.string = StringPlace::kNone;
      return true;
    }
    if (place.kind == EntryPlace::Kind::kNone && drops_unused_) {
      value = {};
    } else {
      SignatureReader::place(value, *layout, next_integer_, kIntegerRegisters);
    }

    next_integer_ += integers;
    next_vector_ += vectors;
    return true;
  }

  std::optional<AbiLayout> find_layout(Dwarf_Die type, const EntryPlace& place) {
    if (types_.size_of(type) == 0) return AbiLayout{};
    Passing passing = Passing::kByValue;
    if (is_record(type) && language_ == Language::kC) {
      passing = find_passing(types_, limit_, type);
      const bool has_evidence =
          place.kind == EntryPlace::Kind::kInteger || place.kind == EntryPlace::Kind::kFrame;
      if (passing == Passing::kUnknown && has_evidence) {
        passing = place.holds_address ? Passing::kByAddress : Passing::kByValue;
      }
    }
    if (passing == Passing::kUnknown) return std::nullopt;
    if (passing == Passing::kByValue) return find_abi_layout(types_, limit_, type);
    AbiLayout layout;
    layout.words[0] = AbiClass::kInteger;
    layout.value = address_of(type);
    return layout;
  }

  // The compiler's own word on where the parameter is, if it has one.
  bool agrees(const EntryPlace& place, const AbiLayout& layout, bool is_address,
              bool is_in_registers) const {
    switch (place.kind) {
      case EntryPlace::Kind::kInteger:
        return is_in_registers && layout.words[0] == AbiClass::kInteger &&
               place.number == next_integer_ && place.holds_address == is_address;
      case EntryPlace::Kind::kVector:
        return is_in_registers && layout.words[0] == AbiClass::kVector &&
               place.number == next_vector_;
      case EntryPlace::Kind::kFrame:
        return place.holds_address == is_address || !is_in_registers;
      default:
        return !may_be_changed_;
    }
  }

  const DebugStrings& strings_;
  DwarfTypes types_;
  WorkLimit& limit_;
  Dwarf_Die function_;
  ImageAddr entry_;
  Language language_ = Language::kOther;
  bool drops_unused_ = false;    // callers pass anything for a parameter that is not used (clang)
  bool may_be_changed_ = false;  // it is not even there, and neither is the result
  bool has_frame_ = false;
  bool is_certain_ = true;
  std::size_t next_integer_ = 0;
  std::size_t next_vector_ = 0;
  std::vector<std::pair<Dwarf_Die, Dwarf_Die>> parameters_;
  Signature signature_;
};

}  // namespace

std::optional<Signature> read_signature(const DebugStrings& strings, WorkLimit& limit,
                                        Dwarf_Die function, ImageAddr entry) {
  return SignatureReader(strings, limit, function, entry).read();
}

}  // namespace swipr::symbolize
