#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "preload/runtimes/ruby/ruby_collector_code.h"

namespace swipr::runtimes {
namespace {

enum class Action : std::uint8_t {
  kNothing,
  kAddress,  // of a global: RAX becomes it
  kLoad,     // a pointer, into RAX
  kFlag,     // the bytes that have the flag
  kShift,    // of these bytes
  kEnd,
};
enum class Operand : std::uint8_t { kNone, kByte, kFourBytes, kBehind };  // kBehind: from RIP on

// An instruction whose operand, if any, follows these bytes.
struct Form {
  std::uint8_t size;
  std::uint8_t bytes[4];
  Operand operand;
  Action action;
};
constexpr Form kForms[] = {
    {4, {0xf3, 0x0f, 0x1e, 0xfa}, Operand::kNone, Action::kNothing},  // endbr64
    {1, {0x55}, Operand::kNone, Action::kNothing},                    // push rbp
    {1, {0x5d}, Operand::kNone, Action::kNothing},                    // pop rbp
    {3, {0x48, 0x89, 0xe5}, Operand::kNone, Action::kNothing},        // mov rbp, rsp
    {3, {0x48, 0x8b, 0x05}, Operand::kBehind, Action::kLoad},
    {3, {0x48, 0x8d, 0x05}, Operand::kBehind, Action::kAddress},  // lea
    {3, {0x48, 0x8b, 0x00}, Operand::kNone, Action::kLoad},
    {3, {0x48, 0x8b, 0x40}, Operand::kByte, Action::kLoad},
    {3, {0x48, 0x8b, 0x80}, Operand::kFourBytes, Action::kLoad},
    {4, {0x48, 0x85, 0xc0, 0x74}, Operand::kByte, Action::kNothing},  // a jump if it were 0
    {3, {0x0f, 0xb6, 0x40}, Operand::kByte, Action::kFlag},
    {3, {0x0f, 0xb6, 0x80}, Operand::kFourBytes, Action::kFlag},
    {2, {0x8b, 0x40}, Operand::kByte, Action::kFlag},
    {2, {0x8b, 0x80}, Operand::kFourBytes, Action::kFlag},
    {2, {0xc0, 0xe8}, Operand::kByte, Action::kShift},       // shr al
    {2, {0xc1, 0xe8}, Operand::kByte, Action::kShift},       // shr eax
    {3, {0x83, 0xe0, 0x01}, Operand::kNone, Action::kEnd}};  // and eax, 1

// Executes the code of rb_during_gc as gcc and clang compile it for x86-64: it loads one pointer
// after the other into RAX, then a byte (clang: four), and shifts and masks these. Anything else
// ends it. From 3.3 on the code also asks whether the first pointer is there.
class CollectorCode {
 public:
  CollectorCode(Range<std::uint64_t> code, ObjectPieces& reader) noexcept
      : code_(code), reader_(reader), at_(code.begin) {}

  bool run(RubyCollector& out) noexcept {
    constexpr unsigned kMaxSteps = 16;
    for (unsigned step = 0; step < kMaxSteps && code_.contains(at_); ++step) {
      if (!reader_.read_value(at_, bytes_)) return false;
      const Form* const form =
          std::find_if(std::begin(kForms), std::end(kForms), [this](const Form& known) {
            return std::memcmp(bytes_.data(), known.bytes, known.size) == 0;
          });
      if (form == std::end(kForms)) return false;
      if (form->action == Action::kEnd) return is_shifted_ && finish(form->size, out);
      if (!execute(*form)) return false;
    }
    return false;
  }

 private:
  bool execute(const Form& form) noexcept {
    std::int32_t operand = 0;
    std::size_t operand_bytes = 0;
    if (form.operand == Operand::kByte) {
      constexpr std::int32_t kNegative = 128;
      operand = bytes_[form.size];
      if (operand >= kNegative) operand -= 2 * kNegative;
      operand_bytes = 1;
    } else if (form.operand != Operand::kNone) {
      operand_bytes = sizeof operand;
      std::memcpy(&operand, bytes_.data() + form.size, operand_bytes);
    }
    at_ += form.size + operand_bytes;
    if (form.action == Action::kNothing) return true;
    const bool is_of_register = form.operand != Operand::kBehind;
    const std::uint64_t address =
        (is_of_register ? value_ : at_) + static_cast<std::uint64_t>(std::int64_t{operand});
    if (form.action == Action::kShift) return shift(static_cast<std::uint32_t>(operand));
    if (flag_ != 0 || (is_of_register && value_ == 0)) return false;
    if (form.action == Action::kFlag) {
      flag_ = address;
      return true;
    }
    value_ = address;
    if (form.action == Action::kAddress) return true;
    return reader_.read_value(address, value_) && value_ != 0 && value_ % 8 == 0;
  }
  bool shift(std::uint32_t bits) noexcept {
    constexpr std::uint32_t kBits = 32;
    const bool is_first = flag_ != 0 && !is_shifted_ && bits < kBits;
    bit_ = bits;
    is_shifted_ = true;
    return is_first;
  }
  // A return follows, which may take the frame pointer from the stack before.
  bool finish(std::size_t size, RubyCollector& out) const noexcept {
    constexpr std::uint8_t kPop = 0x5d;
    constexpr std::uint8_t kReturn = 0xc3;
    out.flag = flag_ + bit_ / 8;
    out.mask = static_cast<std::uint8_t>(1u << bit_ % 8);
    std::uint8_t byte = 0;
    return bytes_[bytes_[size] == kPop ? size + 1 : size] == kReturn &&
           reader_.read_value(out.flag, byte);
  }

  Range<std::uint64_t> code_;
  ObjectPieces& reader_;
  std::uint64_t at_;
  std::array<std::uint8_t, 8> bytes_{};
  std::uint64_t value_ = 0;  // RAX, a pointer; 0: not loaded yet
  std::uint64_t flag_ = 0;   // address of the bytes that have the flag
  std::uint32_t bit_ = 0;
  bool is_shifted_ = false;
};

}  // namespace

bool follow_collector_code(Range<std::uint64_t> code, ObjectPieces& reader,
                           RubyCollector& out) noexcept {
  return CollectorCode(code, reader).run(out);
}

}  // namespace swipr::runtimes
