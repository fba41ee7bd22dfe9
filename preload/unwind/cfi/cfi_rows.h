// The rules of one FDE, one for each range of code. The most frequent instructions (change of the
// CFA offset, saved register, advance of the location) are executed here on the two words of a
// plain rule; all others by CfiProgram. A row therefore costs about 10 ns, and a large library has
// a million. Context: control thread. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/cfi/cfi_instruction.h"
#include "preload/unwind/cfi/cfi_program.h"
#include "preload/unwind/cfi/rule_maker.h"

namespace swipr::unwind {

// `Rows` has three functions for the rule that applies from `start` on: add_plain(start, cfa word,
// saved word), add_other(start, state), add_none(start). Each returns false to stop: no memory.
template <typename Rows>
class CfiRows {
 public:
  CfiRows(CfiProgram& program, const Fde& fde, Rows& rows) noexcept
      : program_(program),
        rows_(rows),
        bytes_(fde.instructions),
        code_(fde.code),
        may_be_plain_(!program.cie().signal_frame),
        code_alignment_(program.cie().code_alignment),
        data_alignment_(static_cast<std::int32_t>(program.cie().data_alignment)),
        is_usual_(code_alignment_ <= 16 && program.cie().data_alignment >= -16 &&
                  program.cie().data_alignment <= 16) {}

  // False: no memory.
  bool run() noexcept {
    Hot hot{.location = code_.begin};
    load_rule(hot);
    for (;;) {
      const std::uint64_t start = hot.location;
      const Outcome outcome = run_to_next_location(hot, start);
      if (outcome == Outcome::kDamaged) return rows_.add_none(start);
      if (outcome == Outcome::kNoMemory) return false;
      if (outcome == Outcome::kEnd || hot.location >= code_.end) return true;
    }
  }

 private:
  enum class Outcome : std::uint8_t { kAdvanced, kEnd, kDamaged, kNoMemory };

  // Never passed by reference to a call that is not inlined, so that it stays in registers.
  struct Hot {
    std::size_t position = 0;
    std::uint64_t location = 0;
    std::uint64_t cfa_word = 0;  // the words of a plain rule
    std::uint64_t saved_word = 0;
    bool plain = false;
  };

  // Executes up to the next change of the address and adds the rule that applies from `start` up to
  // there.
  [[gnu::always_inline]] Outcome run_to_next_location(Hot& hot, std::uint64_t start) noexcept {
    while (hot.position < bytes_.size()) {
      const auto instruction = std::to_integer<std::uint8_t>(bytes_[hot.position]);
      const unsigned operand = instruction & cfi::kOperandMask;
      std::uint64_t delta = 0;
      switch (instruction & ~cfi::kOperandMask & 0xff) {
        case cfi::kAdvanceLoc:
          delta = operand;
          break;
        case cfi::kOffset:
          if (save(hot, operand)) continue;
          break;
        case 0:
          if (instruction == cfi::kNop) {
            ++hot.position;
            continue;
          }
          if (instruction == cfi::kDefCfaOffset && change_offset(hot)) continue;
          if (instruction == cfi::kAdvanceLoc1 && byte(hot, 1) >= 0) {
            delta = static_cast<unsigned>(byte(hot, 1));
          }
          break;
        default:
          break;
      }
      if (delta != 0 && is_usual_) [[likely]] {
        if (!add(hot, start)) return Outcome::kNoMemory;
        hot.position += instruction == cfi::kAdvanceLoc1 ? 2 : 1;
        // No overflow: the location is below the code's end, which is an address of its image.
        hot.location += delta * code_alignment_;
        return hot.location > start ? Outcome::kAdvanced : Outcome::kDamaged;
      }
      std::size_t position = hot.position;
      std::uint64_t location = hot.location;
      if (!program_.execute(position, location)) return Outcome::kDamaged;
      hot.position = position;
      hot.location = location;
      if (hot.location != start) {  // the rule is unchanged
        return add(hot, start) ? Outcome::kAdvanced : Outcome::kNoMemory;
      }
      if (may_be_plain_) load_rule(hot);
    }
    return add(hot, start) ? Outcome::kEnd : Outcome::kNoMemory;
  }

  [[gnu::always_inline]] int byte(const Hot& hot, std::size_t ahead) const noexcept {
    return bytes_.size() - hot.position > ahead ? std::to_integer<int>(bytes_[hot.position + ahead])
                                                : -1;
  }

  // The operand in one or two bytes of LEB128.
  [[gnu::always_inline]] bool change_offset(Hot& hot) noexcept {
    const int low = byte(hot, 1);
    if (!hot.plain || low < 0) return false;
    int offset = low;
    std::size_t size = 2;
    if (low >= 0x80) {
      const int high = byte(hot, 2);
      if (high < 0 || high >= 0x80) return false;
      offset = (low & 0x7f) | high << 7;
      size = 3;
    }
    program_.set_cfa_offset(offset);
    hot.cfa_word = with_cfa_offset(hot.cfa_word, offset);
    hot.position += size;
    return true;
  }

  [[gnu::always_inline]] bool save(Hot& hot, unsigned reg) noexcept {
    const int count = byte(hot, 1);
    if (!hot.plain || !is_usual_ || count < 0 || count >= 0x80) return false;
    if (reg >= Registers::kCount || reg == kStackRegister || reg == kPcRegister) return false;
    const std::int32_t offset = count * data_alignment_;
    program_.save_at_offset(reg, offset);
    if (reg == kFrameRegister) {
      hot.saved_word = with_saved_frame(hot.saved_word, static_cast<std::int16_t>(offset));
    } else if (reg == kBaseRegister) {
      hot.saved_word = with_saved_base(hot.saved_word, static_cast<std::int16_t>(offset));
    }
    hot.position += 2;
    return true;
  }

  [[gnu::always_inline]] void load_rule(Hot& hot) const noexcept {
    const std::optional<RuleWords> words =
        may_be_plain_ ? make_plain_rule(program_.state()) : std::nullopt;
    hot.plain = words.has_value();
    hot.cfa_word = words ? (*words)[0] : 0;
    hot.saved_word = words ? (*words)[1] : 0;
  }

  [[gnu::always_inline]] bool add(const Hot& hot, std::uint64_t start) noexcept {
    return hot.plain ? rows_.add_plain(start, hot.cfa_word, hot.saved_word)
                     : rows_.add_other(start, program_.state());
  }

  CfiProgram& program_;
  Rows& rows_;
  std::span<const std::byte> bytes_;
  Range<std::uint64_t> code_;
  bool may_be_plain_;
  std::uint64_t code_alignment_;
  std::int32_t data_alignment_;
  bool is_usual_;  // small enough alignments: products with a byte fit
};

}  // namespace swipr::unwind
