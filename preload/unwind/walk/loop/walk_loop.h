// The loop of a walk, for any kind of memory reader. The plain step is about ten instructions. A
// frame costs 6 ns, and 545 ns in libunwind, because these are inlined together with the reader's
// and because a cache maps return addresses to rules. Context: signal handler or control thread.
// Allocates: never. Errno: kept. Bounds: kMaxSteps steps. Stack with everything called from here,
// measured: 460 bytes on plain rules, 900 through a signal frame (the evaluator of its
// expressions).
// All steps are inlined into one loop and share its state.
#pragma once

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/loop/code_checks.h"
#include "preload/unwind/walk/loop/hot_registers.h"
#include "preload/unwind/walk/loop/rule_cache.h"
#include "preload/unwind/walk/loop/walked_frames.h"
#include "preload/unwind/walk/step.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

// Of programs without a runtime whose code is stepped through in another way.
struct NoRuntimeCode {
  static constexpr bool contains(std::uint64_t) noexcept { return false; }
  static constexpr bool has_tables(std::uint64_t) noexcept { return false; }
  static StepStatus step(Registers&, bool) noexcept { return StepStatus::kNoRule; }
};

// `Reader` has read_word(address, out) → bool, stack_reader() → StackReader, and kReadsCode: if it
// must not read code, claims are recorded in the frames (code_claims.h).
// `RuntimeCode`: code of a language's virtual machine, whose frames no table describes.
// contains(pc) says which, step(registers, exact) → StepStatus replaces the registers by the
// caller's, unless it is kUseTables. has_tables(pc): a rule for it may be cached, and is not right.
template <typename Reader, typename RuntimeCode = NoRuntimeCode>
class WalkLoop {
 public:
  WalkLoop(const CodeMap& map, Reader& reader, FrameBuffer& frames, RuntimeCode code = {}) noexcept
      : map_(map), reader_(reader), checks_(map, reader, frames), frames_(frames), code_(code) {}

  // `exact`: the first frame's pc is exact.
  WalkEnd run(const Registers& registers, bool exact = true) noexcept {
    registers_ = registers;
    frames_.begin();
    // Never passed by reference to a call that is not inlined, so that it stays in registers.
    HotRegisters hot = HotRegisters::of(registers_);
    hot.exact = exact;
    std::uint32_t count = 0;
    WalkEnd end = WalkEnd::kCut;
    const CodeRange* range = nullptr;
    wire::FrameSource source = wire::FrameSource::kContext;
    const RuleCache* const cache = map_.cache();
    for (;;) {
      const bool may_be_cached = cache != nullptr && !hot.exact && !code_.has_tables(hot.pc);
      const std::uint64_t known = may_be_cached ? cache->find(hot.pc) : 0;
      if (known == 0) {
        const CodePlace place = original_place({hot.pc, hot.stack}, hot.exact);
        hot.pc = place.pc;
        hot.stack = place.stack;
        range = find_range(range, hot);
        // No code there: not a return address.
        if (range == nullptr && !hot.exact && !code_.contains(hot.pc)) {
          end = WalkEnd::kNoRule;
          break;
        }
      }
      frames_.append(count++, hot, source);
      if (count == kMaxSteps) break;
      StepStatus status = StepStatus::kOk;
      if (known != 0) [[likely]] {
        source = wire::FrameSource::kCfi;
        status = step_by_packed_rule(PackedRule(known), hot, source);
      } else {
        status = step(range, count - 1, hot, source);
      }
      if (status != StepStatus::kOk) {
        end = to_walk_end(status);
        break;
      }
      if (hot.pc == 0 && !hot.exact) {
        // A zero alone is not sufficient: it may have been read from a wrong address. If the chain
        // of frame pointers ends there as well, it is the ABI's mark of the outermost frame.
        const bool marked = source == wire::FrameSource::kFramePointer && hot.frame == 0;
        end = marked ? WalkEnd::kRoot : WalkEnd::kNoRule;
        break;
      }
    }
    if (end == WalkEnd::kUnbuilt) [[unlikely]]
      hot.store(registers_);
    frames_.finish(count, end);
    return end;
  }

  // Of the last frame, where the walk has ended with kUnbuilt.
  const Registers& registers() const noexcept { return registers_; }

 private:
  static WalkEnd to_walk_end(StepStatus status) noexcept {
    switch (status) {
      case StepStatus::kRoot:
        return WalkEnd::kRoot;
      case StepStatus::kUnreadable:
        return WalkEnd::kUnreadable;
      case StepStatus::kUnknownRegister:
        return WalkEnd::kUnknownRegister;
      case StepStatus::kUnbuilt:
        return WalkEnd::kUnbuilt;
      default:
        return WalkEnd::kNoRule;
    }
  }

  const CodeRange* find_range(const CodeRange* previous, const HotRegisters& hot) const noexcept {
    const std::uint64_t pc = hot.lookup_pc();
    if (previous != nullptr && pc >= previous->start && pc < previous->end) return previous;
    return map_.find(pc);
  }

  // Everything except cached rules. The rare cases are not inlined and get a copy of `hot`, so that
  // `hot` itself stays in registers.
  StepStatus step(const CodeRange* range, std::uint32_t index, HotRegisters& hot,
                  wire::FrameSource& source) noexcept {
    if (code_.contains(hot.pc)) {
      const StepStatus status = step_in_runtime(hot, source);
      if (status != StepStatus::kUseTables) return status;
    }
    const UnwindTable* const table =
        range != nullptr ? checks_.table_at(*range, index, hot) : nullptr;
    const Rule* const rule =
        table != nullptr ? table->find(hot.lookup_pc() - range->load_bias) : nullptr;
    if (rule != nullptr && rule->flags == 0) {
      if (!hot.exact && map_.cache() != nullptr && !range->is_registered) {
        map_.cache()->put(hot.pc, *rule);
      }
      source = wire::FrameSource::kCfi;
      return step_by_plain_rule(*rule, hot, source);
    }
    if (table == &kUnbuiltTable) return StepStatus::kUnbuilt;
    HotRegisters copy = hot;
    wire::FrameSource found = wire::FrameSource::kCfi;
    const StepStatus status = rule != nullptr ? step_by_other_rule(*table, *rule, index, copy)
                                              : step_without_rule(range, index, copy, found);
    source = found;
    hot = copy;
    return status;
  }

  StepStatus step_in_runtime(HotRegisters& hot, wire::FrameSource& source) noexcept {
    HotRegisters copy = hot;
    const StepStatus status = step_by_runtime(copy);
    source = wire::FrameSource::kCfi;
    if (status != StepStatus::kUseTables) hot = copy;
    return status;
  }
  [[gnu::noinline]] StepStatus step_by_runtime(HotRegisters& hot) noexcept {
    hot.store(registers_);
    const StepStatus status = code_.step(registers_, hot.exact);
    hot = HotRegisters::of(registers_);
    hot.forget_others();
    return status;
  }

  StepStatus step_by_packed_rule(PackedRule rule, HotRegisters& hot,
                                 wire::FrameSource& source) noexcept {
    const unsigned reg = rule.cfa_register();
    if (!hot.is_known(reg)) return step_by_frame_record(rule.saved_frame(), hot, source);
    const std::uint64_t cfa = hot.value_of(reg) + rule.cfa_offset();
    if (hot.is_below_its_frame(reg)) return StepStatus::kNoRule;
    if (cfa <= hot.stack) return StepStatus::kNoRule;  // callers are at higher addresses: no loops
    if (kReturnAddressIsPushed && !read(cfa, kReturnAddressAt, hot.pc)) {
      return StepStatus::kUnreadable;
    }
    if (const std::uint64_t below = rule.saved_frame(); below != 0) {
      if (!reader_.read_word(cfa - below, hot.frame)) return StepStatus::kUnreadable;
      hot.known |= bit_of(kFrameRegister);
    }
    if (const std::uint64_t below = rule.saved_base(); below != 0) {
      if (!reader_.read_word(cfa - below, hot.base)) return StepStatus::kUnreadable;
      hot.known |= bit_of(kBaseRegister);
    }
    if (!kReturnAddressIsPushed) hot.return_by_register();
    hot.stack = cfa;
    return StepStatus::kOk;  // cached rules are for callers: the other registers are not known
  }

  StepStatus step_by_plain_rule(const Rule& rule, HotRegisters& hot,
                                wire::FrameSource& source) noexcept {
    const unsigned reg = rule.cfa_register;
    if (!hot.is_known(reg)) {
      const bool has_record = rule.saved_frame < 0 && rule.saved_base == rule.saved_frame + 8;
      const auto below = static_cast<std::uint64_t>(-std::int64_t{rule.saved_frame});
      return step_by_frame_record(has_record ? below : 0, hot, source);
    }
    const std::uint64_t cfa =
        hot.value_of(reg) + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    if (hot.is_below_its_frame(reg)) return StepStatus::kNoRule;
    // Code that jumps on, with its caller's stack pointer already, has no callees.
    if (cfa < hot.stack || (cfa == hot.stack && !hot.exact)) return StepStatus::kNoRule;
    if (kReturnAddressIsPushed && !read(cfa, kReturnAddressAt, hot.pc)) {
      return StepStatus::kUnreadable;
    }
    if (rule.saved_frame != Rule::kKept) {
      if (!read(cfa, rule.saved_frame, hot.frame)) return StepStatus::kUnreadable;
      hot.known |= bit_of(kFrameRegister);
    }
    if (rule.saved_base != Rule::kKept) {
      if (!read(cfa, rule.saved_base, hot.base)) return StepStatus::kUnreadable;
      hot.known |= bit_of(kBaseRegister);
    }
    if (!kReturnAddressIsPushed) {
      if (!hot.is_known(kBaseRegister)) return StepStatus::kUnknownRegister;
      hot.return_by_register();
    }
    hot.stack = cfa;
    hot.forget_others();
    return StepStatus::kOk;
  }

  // Callers of code without CFI have no known stack pointer where it is none of the pushed words. A
  // function that has called, and whose CFI says that it keeps a frame record (AAPCS64, 6.4.6), has
  // the frame pointer at it, so its CFA is known. `below`: how far it is; 0: there is none.
  [[gnu::noinline]] StepStatus step_by_frame_record(std::uint64_t below, HotRegisters& hot,
                                                    wire::FrameSource& source) noexcept {
    if (kReturnAddressIsPushed || below == 0 || hot.exact || !hot.is_known(kFrameRegister) ||
        hot.frame < hot.stack) {
      return StepStatus::kUnknownRegister;
    }
    HotRegisters copy = hot;
    const StepStatus status = step_by_frame_pointer(0, copy, source);
    if (status != StepStatus::kOk) return status;
    copy.stack = hot.frame + below;
    copy.known |= bit_of(kStackRegister);
    hot = copy;
    return status;
  }

  bool read(std::uint64_t cfa, std::int64_t offset, std::uint64_t& out) noexcept {
    return reader_.read_word(cfa + static_cast<std::uint64_t>(offset), out);
  }

  [[gnu::noinline]] StepStatus step_by_other_rule(const UnwindTable& table, const Rule& rule,
                                                  std::uint32_t index, HotRegisters& hot) noexcept {
    const std::uint64_t stack_before = hot.stack;
    const bool was_exact = hot.exact;
    // The kernel made the call: the code at its return address runs next.
    const bool signal_frame = (rule.flags & kRuleSignalFrame) != 0;
    if (signal_frame) frames_.mark_exact(index);
    hot.store(registers_);
    const StepStatus status =
        step_by_extended_rule(table, rule, reader_.stack_reader(), registers_);
    if (status != StepStatus::kOk) return status;
    hot = HotRegisters::of(registers_);
    hot.exact = signal_frame;
    // Code that has popped its return address into a register (vfork) has its caller's stack
    // pointer already; such code has no callees. A signal may have arrived on another stack.
    const bool plausible =
        signal_frame || hot.stack > stack_before || (was_exact && hot.stack == stack_before);
    return plausible ? StepStatus::kOk : StepStatus::kNoRule;
  }

  [[gnu::noinline]] StepStatus step_without_rule(const CodeRange* range, std::uint32_t index,
                                                 HotRegisters& hot,
                                                 wire::FrameSource& source) noexcept {
    const bool has_record = hot.exact && has_own_record(hot);
    // A call through an invalid pointer (such as null) has only pushed its return address.
    if (range == nullptr) {
      return has_record ? step_by_frame_pointer(index, hot, source) : step_by_guess(hot, source);
    }
    if (!hot.exact && checks_.is_entered_by_return(*range, index, hot.pc)) {
      frames_.mark_exact(index);
      return StepStatus::kRoot;
    }
    if (is_end_of_fiber(hot)) return StepStatus::kRoot;
    if (checks_.table_at(*range, index, hot) != nullptr) {
      const bool from_top = hot.exact && !has_record && checks_.is_called_from_top(index, hot);
      // Where calls leave the return address in a register, the code may have a frame nevertheless.
      if (!range->is_registered && !(from_top && kReturnAddressIsPushed))
        frames_.note_hole(index, hot.stack);
      if (from_top) return step_by_guess(hot, source);
    }
    if (!hot.is_known(kFrameRegister)) return StepStatus::kUnknownRegister;
    // The ABI's mark of the outermost frame.
    if (hot.frame == 0 && !hot.exact) return StepStatus::kRoot;
    const StepStatus status = step_by_frame_pointer(index, hot, source);
    return status != StepStatus::kOk && hot.exact ? step_by_guess(hot, source) : status;
  }

  // Boost's make_fcontext, which PHP's fibers use too, starts a context with the code that ends it
  // as both return address and frame pointer. That code has no CFI. A frame pointer never points to
  // code. Source: Boost.Context, make_x86_64_sysv_elf_gas.S.
  static bool is_end_of_fiber(const HotRegisters& hot) noexcept {
    return !hot.exact && hot.is_known(kFrameRegister) && hot.frame == hot.pc;
  }

  // The frame record has the return address that its register still has, too: the code has made it,
  // and has called nothing yet; or it is its caller's, which the same call has called.
  bool has_own_record(const HotRegisters& hot) noexcept {
    std::uint64_t saved = 0;
    return !kReturnAddressIsPushed && hot.is_known(kFrameRegister) && hot.is_known(kBaseRegister) &&
           hot.frame >= hot.stack && reader_.read_word(hot.frame + sizeof saved, saved) &&
           saved == hot.base;
  }

  StepStatus step_by_frame_pointer(std::uint32_t index, HotRegisters& hot,
                                   wire::FrameSource& source) noexcept {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    std::uint64_t saved_frame = 0;
    std::uint64_t return_address = 0;
    if (hot.frame % kWord != 0) return StepStatus::kNoRule;
    if (hot.frame < hot.stack && !checks_.is_called_from_other_stack(index, hot))
      return StepStatus::kNoRule;
    // The frame may have two records, of which the outer one is directly behind: Go's crosscall2
    // saves the frame pointer itself, after its assembler has done so.
    for (unsigned inner = 1;; --inner) {
      if (!reader_.read_word(hot.frame, saved_frame) ||
          !reader_.read_word(hot.frame + kWord, return_address)) {
        return StepStatus::kUnreadable;
      }
      if (inner == 0 || saved_frame != hot.frame + kWord) break;
      hot.frame = saved_frame;
    }
    return_address = plain_return_address(original_return_address(return_address));
    if (return_address != 0 && !checks_.is_return_address(return_address))
      return StepStatus::kNoRule;
    source = wire::FrameSource::kFramePointer;
    hot.stack = hot.frame + 2 * kWord;
    hot.frame = saved_frame;
    hot.pc = return_address;
    // It is unknown whether and where that code saved it. Frame records may be anywhere in a frame,
    // so the stack pointer is only known not to be below them.
    hot.known &= ~bit_of(kBaseRegister);
    if (!kReturnAddressIsPushed) hot.known &= ~bit_of(kStackRegister);
    hot.forget_others();
    return StepStatus::kOk;
  }

  // For code that has not used its stack yet, or no longer uses it: the return address is on top,
  // or in its register.
  StepStatus step_by_guess(HotRegisters& hot, wire::FrameSource& source) noexcept {
    if (!hot.exact) return StepStatus::kNoRule;
    std::uint64_t return_address = hot.base;
    if (kReturnAddressIsPushed && !reader_.read_word(hot.stack, return_address)) {
      return StepStatus::kUnreadable;
    }
    if (!kReturnAddressIsPushed && !hot.is_known(kBaseRegister)) {
      return StepStatus::kUnknownRegister;
    }
    return_address = plain_return_address(original_return_address(return_address));
    if (!checks_.is_return_address(return_address)) return StepStatus::kNoRule;
    source = wire::FrameSource::kGuess;
    if (kReturnAddressIsPushed) hot.stack += sizeof return_address;
    hot.pc = return_address;
    hot.forget_others();
    return StepStatus::kOk;
  }

  const CodeMap& map_;
  Reader& reader_;
  CodeChecks<Reader> checks_;
  WalkedFrames frames_;
  Registers registers_;
  [[no_unique_address]] RuntimeCode code_;
};

}  // namespace swipr::unwind
