#include <algorithm>
#include <iterator>

#include "preload/runtimes/ruby/ruby_collector_code.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {
namespace {

enum class Action : std::uint8_t {
  kNothing,
  kPage,   // adrp: the address of a page
  kAdd,    // to that address
  kLoad,   // a pointer, or the bytes that have the flag
  kTest,   // cbz: a jump if it were 0
  kField,  // ubfx of one bit
  kReturn,
};

// Source: Arm ARM, C6.2.
struct Form {
  std::uint32_t mask;
  std::uint32_t value;
  Action action;
  std::uint8_t scale = 0;  // kLoad: log2 of the unit of its offset
};
constexpr Form kForms[] = {{0xffffffff, 0xd503245f, Action::kNothing},  // bti c
                           {0xffffffff, 0xd503233f, Action::kNothing},  // paciasp
                           {0xffffffff, 0xd50323bf, Action::kNothing},  // autiasp
                           {0xffffffff, 0xa9bf7bfd, Action::kNothing},  // stp x29, x30, [sp, #-16]!
                           {0xffffffff, 0x910003fd, Action::kNothing},  // mov x29, sp
                           {0xffffffff, 0xa8c17bfd, Action::kNothing},  // ldp x29, x30, [sp], #16
                           {0x9f000000, 0x90000000, Action::kPage},
                           {0xffc00000, 0x91000000, Action::kAdd},
                           {0xffc00000, 0xf9400000, Action::kLoad, 3},  // ldr x
                           {0xffc00000, 0xb9400000, Action::kLoad, 2},  // ldr w
                           {0xffc00000, 0x39400000, Action::kLoad, 0},  // ldrb
                           {0xff000000, 0xb4000000, Action::kTest},     // x
                           {0xffc00000, 0x53000000, Action::kField},    // w
                           {0xffc00000, 0xd3400000, Action::kField},    // x
                           {0xffffffff, 0xd65f03c0, Action::kReturn}};

constexpr std::uint32_t first_register(std::uint32_t word) noexcept { return word & 31; }
constexpr std::uint32_t base_register(std::uint32_t word) noexcept { return word >> 5 & 31; }
constexpr std::uint32_t offset_of(std::uint32_t word) noexcept { return word >> 10 & 0xfff; }

// Executes the code of rb_during_gc as gcc compiles it for aarch64: it loads one pointer after the
// other, then a word that has the flag, and takes one bit of it. Anything else ends it. From 3.3 on
// the code also asks whether the first pointer is there.
class CollectorCode {
 public:
  CollectorCode(Range<std::uint64_t> code, ObjectPieces& reader) noexcept
      : code_(code), reader_(reader) {}

  bool run(RubyCollector& out) noexcept {
    constexpr unsigned kMaxSteps = 16;
    std::uint64_t at = code_.begin;
    for (unsigned step = 0; step < kMaxSteps && code_.contains(at); ++step, at += sizeof word_) {
      if (!reader_.read_value(at, word_)) return false;
      const Form* const form =
          std::find_if(std::begin(kForms), std::end(kForms),
                       [this](const Form& known) { return (word_ & known.mask) == known.value; });
      if (form == std::end(kForms)) return false;
      if (form->action == Action::kReturn) return finish(out);
      if (form->action != Action::kNothing && !execute(*form, at)) return false;
    }
    return false;
  }

 private:
  bool execute(const Form& form, std::uint64_t at) noexcept {
    switch (form.action) {
      case Action::kPage:
        if (stage_ != Stage::kBegin) return false;
        stage_ = Stage::kAddress;
        value_ = unwind::adrp_result(word_, at);
        break;
      case Action::kAdd:
        if (stage_ != Stage::kAddress || !takes_result()) return false;
        value_ += offset_of(word_);
        break;
      case Action::kLoad:
        if (!takes_result() || !resolve()) return false;
        stage_ = Stage::kLoad;
        loaded_bits_ = 8u << form.scale;
        value_ += std::uint64_t{offset_of(word_)} << form.scale;
        break;
      case Action::kTest:
        return stage_ == Stage::kLoad && first_register(word_) == result_;
      default:
        if (!takes_result() || !take_bit()) return false;
    }
    result_ = first_register(word_);
    return true;
  }
  bool takes_result() const noexcept { return base_register(word_) == result_; }

  // What was loaded last is needed as a pointer.
  bool resolve() noexcept {
    if (stage_ == Stage::kAddress) return true;
    return stage_ == Stage::kLoad && loaded_bits_ == kPointerBits &&
           reader_.read_value(value_, value_) && value_ != 0 && value_ % 8 == 0;
  }
  // ubfm takes the bits from `immr` to `imms`.
  bool take_bit() noexcept {
    bit_ = word_ >> 16 & 63;
    if (stage_ != Stage::kLoad || (word_ >> 10 & 63) != bit_ || bit_ >= loaded_bits_) return false;
    stage_ = Stage::kBit;
    return true;
  }
  bool finish(RubyCollector& out) const noexcept {
    out.flag = value_ + bit_ / 8;
    out.mask = static_cast<std::uint8_t>(1u << bit_ % 8);
    std::uint8_t byte = 0;
    return stage_ == Stage::kBit && result_ == 0 && reader_.read_value(out.flag, byte);
  }

  static constexpr unsigned kPointerBits = 64;
  // Of the result so far: nothing, an address in value_, what is loaded from there, a bit of it.
  enum class Stage : std::uint8_t { kBegin, kAddress, kLoad, kBit };

  Range<std::uint64_t> code_;
  ObjectPieces& reader_;
  std::uint32_t word_ = 0;
  Stage stage_ = Stage::kBegin;
  std::uint32_t result_ = 0;  // number of its register
  std::uint64_t value_ = 0;
  unsigned loaded_bits_ = 0;
  unsigned bit_ = 0;
};

}  // namespace

bool follow_collector_code(Range<std::uint64_t> code, ObjectPieces& reader,
                           RubyCollector& out) noexcept {
  return CollectorCode(code, reader).run(out);
}

}  // namespace swipr::runtimes
