// The loop of a walk, for any kind of memory reader. The plain step is about ten instructions. A
// frame costs 6 ns, and 545 ns in libunwind, because these are inlined together with the reader's
// and because a cache maps return addresses to rules. Context: signal handler or control thread.
// Allocates: never. Errno: kept. Bounds: kMaxSteps steps. Stack with everything called from here,
// measured: 460 bytes on plain rules, 900 through a signal frame (the evaluator of its
// expressions).
// Longer than other files: all steps are inlined into one loop and share its state.
#pragma once

#include <algorithm>

#include "common/core/addresses.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/leaf_end.h"
#include "preload/unwind/walk/rule_cache.h"
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
      : map_(map), reader_(reader), frames_(frames), code_(code) {}

  // `exact`: the first frame's pc is exact.
  WalkEnd run(const Registers& registers, bool exact = true) noexcept {
    registers_ = registers;
    frames_.claim_count = 0;
    frames_.hole = {};
    // Never passed by reference to a call that is not inlined, so that it stays in registers.
    Hot hot = load_hot();
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
      append(count++, hot, source);
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
      store_hot(hot);
    finish(count, end);
    return end;
  }

  // Of the last frame, where the walk has ended with kUnbuilt.
  const Registers& registers() const noexcept { return registers_; }

 private:
  // The registers that every plain step changes.
  struct Hot {
    std::uint64_t pc = 0;
    std::uint64_t stack = 0;
    std::uint64_t frame = 0;
    std::uint64_t base = 0;
    RegisterMask known = 0;
    bool exact = false;
  };

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

  static bool is_known(const Hot& hot, unsigned reg) noexcept {
    return (hot.known >> reg & 1u) != 0;
  }

  Hot load_hot() const noexcept {
    return {.pc = registers_.values[kPcRegister],
            .stack = registers_.values[kStackRegister],
            .frame = registers_.values[kFrameRegister],
            .base = registers_.values[kBaseRegister],
            .known = registers_.known};
  }
  void store_hot(const Hot& hot) noexcept {
    registers_.values[kPcRegister] = hot.pc;
    registers_.values[kStackRegister] = hot.stack;
    registers_.values[kFrameRegister] = hot.frame;
    registers_.values[kBaseRegister] = hot.base;
    registers_.known = hot.known;
  }
  // After an ordinary call only these registers are known to be the caller's.
  static void forget_others(Hot& hot) noexcept {
    hot.known &= kCallersRegisters;
    hot.exact = false;
  }

  static std::uint64_t lookup_pc(const Hot& hot) noexcept {
    return lookup_address(hot.pc, hot.exact ? PcKind::kExact : PcKind::kReturnAddress);
  }

  const CodeRange* find_range(const CodeRange* previous, const Hot& hot) const noexcept {
    const std::uint64_t pc = lookup_pc(hot);
    if (previous != nullptr && pc >= previous->start && pc < previous->end) return previous;
    return map_.find(pc);
  }

  // The index of a frame: beyond kMaxFrames the outer frames are stored in a ring.
  static std::uint32_t slot(std::uint32_t index) noexcept {
    return index < wire::kMaxFrames ? index : kKeptInner + (index - kKeptInner) % kKeptOuter;
  }

  void append(std::uint32_t index, const Hot& hot, wire::FrameSource source) noexcept {
    const std::uint32_t at = slot(index);
    frames_.pcs[at] = hot.pc;
    frames_.stacks[at] = hot.stack;
    frames_.kinds[at] =
        static_cast<std::uint8_t>(static_cast<unsigned>(source) | (hot.exact ? kExactFrame : 0u));
  }
  // The pc of that frame is the instruction that runs next, not a return address.
  void mark_exact(std::uint32_t index) noexcept {
    std::uint8_t& kind = frames_.kinds[slot(index)];
    kind = static_cast<std::uint8_t>(kind | kExactFrame);
  }

  // The table of the code at this address, if it is valid.
  const UnwindTable* table_at(const CodeRange& range, std::uint32_t index,
                              const Hot& hot) noexcept {
    const UnwindTable* const table = map_.table_of(range);
    const bool may_be_other_code =
        table != nullptr && range.is_registered && !map_.checksums().sorted.empty();
    return may_be_other_code && !verify_checksum(index, lookup_pc(hot)) ? nullptr : table;
  }
  [[gnu::noinline]] bool verify_checksum(std::uint32_t index, std::uint64_t pc) noexcept {
    if constexpr (Reader::kReadsCode) {
      return verifier_.is_unchanged(map_.checksums(), pc, reader_);
    } else {
      const CodeChecksum* const checksum = map_.checksums().find(pc);
      return checksum == nullptr || claim({.address = checksum->begin,
                                           .begin = checksum->bytes,
                                           .end = checksum->hash,
                                           .frame = index,
                                           .kind = CodeClaim::Kind::kHash});
    }
  }
  bool claim(const CodeClaim& claim) noexcept {
    return claim.frame < kKeptInner && add_claim(frames_.claims, frames_.claim_count, claim);
  }

  // Everything except cached rules. The rare cases are not inlined and get a copy of `hot`, so that
  // `hot` itself stays in registers.
  StepStatus step(const CodeRange* range, std::uint32_t index, Hot& hot,
                  wire::FrameSource& source) noexcept {
    if (code_.contains(hot.pc)) {
      const StepStatus status = step_in_runtime(hot, source);
      if (status != StepStatus::kUseTables) return status;
    }
    const UnwindTable* const table = range != nullptr ? table_at(*range, index, hot) : nullptr;
    const Rule* const rule =
        table != nullptr ? table->find(lookup_pc(hot) - range->load_bias) : nullptr;
    if (rule != nullptr && rule->flags == 0) {
      if (!hot.exact && map_.cache() != nullptr && !range->is_registered) {
        map_.cache()->put(hot.pc, *rule);
      }
      source = wire::FrameSource::kCfi;
      return step_by_plain_rule(*rule, hot, source);
    }
    if (table == &kUnbuiltTable) return StepStatus::kUnbuilt;
    Hot copy = hot;
    wire::FrameSource found = wire::FrameSource::kCfi;
    const StepStatus status = rule != nullptr ? step_by_other_rule(*table, *rule, index, copy)
                                              : step_without_rule(range, index, copy, found);
    source = found;
    hot = copy;
    return status;
  }

  StepStatus step_in_runtime(Hot& hot, wire::FrameSource& source) noexcept {
    Hot copy = hot;
    const StepStatus status = step_by_runtime(copy);
    source = wire::FrameSource::kCfi;
    if (status != StepStatus::kUseTables) hot = copy;
    return status;
  }
  [[gnu::noinline]] StepStatus step_by_runtime(Hot& hot) noexcept {
    store_hot(hot);
    const StepStatus status = code_.step(registers_, hot.exact);
    hot = load_hot();
    forget_others(hot);
    return status;
  }

  StepStatus step_by_packed_rule(PackedRule rule, Hot& hot, wire::FrameSource& source) noexcept {
    const unsigned reg = rule.cfa_register();
    if (!is_known(hot, reg)) return step_by_frame_record(rule.saved_frame(), hot, source);
    const std::uint64_t cfa = value_of(reg, hot) + rule.cfa_offset();
    if (is_below_its_frame(reg, hot)) return StepStatus::kNoRule;
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
    if (!kReturnAddressIsPushed) return_by_register(hot);
    hot.stack = cfa;
    return StepStatus::kOk;  // cached rules are for callers: the other registers are not known
  }

  // The base register holds the return address. A caller's own one is not known.
  static void return_by_register(Hot& hot) noexcept {
    hot.pc = plain_return_address(hot.base);
    hot.known &= ~bit_of(kBaseRegister);
  }

  static std::uint64_t value_of(unsigned reg, const Hot& hot) noexcept {
    return reg == kStackRegister ? hot.stack : reg == kFrameRegister ? hot.frame : hot.base;
  }

  // A frame record may be anywhere in its frame, which ends at the stack pointer (AAPCS64, 6.4.6):
  // a smashed one that lies in a callee's would be its own caller.
  static bool is_below_its_frame(unsigned reg, const Hot& hot) noexcept {
    return !kReturnAddressIsPushed && reg == kFrameRegister && hot.frame < hot.stack;
  }

  StepStatus step_by_plain_rule(const Rule& rule, Hot& hot, wire::FrameSource& source) noexcept {
    const unsigned reg = rule.cfa_register;
    if (!is_known(hot, reg)) {
      const bool has_record = rule.saved_frame < 0 && rule.saved_base == rule.saved_frame + 8;
      const auto below = static_cast<std::uint64_t>(-std::int64_t{rule.saved_frame});
      return step_by_frame_record(has_record ? below : 0, hot, source);
    }
    const std::uint64_t cfa =
        value_of(reg, hot) + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    if (is_below_its_frame(reg, hot)) return StepStatus::kNoRule;
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
      if (!is_known(hot, kBaseRegister)) return StepStatus::kUnknownRegister;
      return_by_register(hot);
    }
    hot.stack = cfa;
    forget_others(hot);
    return StepStatus::kOk;
  }

  // Callers of code without CFI have no known stack pointer where it is none of the pushed words. A
  // function that has called, and whose CFI says that it keeps a frame record (AAPCS64, 6.4.6), has
  // the frame pointer at it, so its CFA is known. `below`: how far it is; 0: there is none.
  [[gnu::noinline]] StepStatus step_by_frame_record(std::uint64_t below, Hot& hot,
                                                    wire::FrameSource& source) noexcept {
    if (kReturnAddressIsPushed || below == 0 || hot.exact || !is_known(hot, kFrameRegister) ||
        hot.frame < hot.stack) {
      return StepStatus::kUnknownRegister;
    }
    Hot copy = hot;
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
                                                  std::uint32_t index, Hot& hot) noexcept {
    const std::uint64_t stack_before = hot.stack;
    const bool was_exact = hot.exact;
    // The kernel made the call: the code at its return address runs next.
    const bool signal_frame = (rule.flags & kRuleSignalFrame) != 0;
    if (signal_frame) mark_exact(index);
    store_hot(hot);
    const StepStatus status =
        step_by_extended_rule(table, rule, reader_.stack_reader(), registers_);
    if (status != StepStatus::kOk) return status;
    hot = load_hot();
    hot.exact = signal_frame;
    // Code that has popped its return address into a register (vfork) has its caller's stack
    // pointer already; such code has no callees. A signal may have arrived on another stack.
    const bool plausible =
        signal_frame || hot.stack > stack_before || (was_exact && hot.stack == stack_before);
    return plausible ? StepStatus::kOk : StepStatus::kNoRule;
  }

  [[gnu::noinline]] StepStatus step_without_rule(const CodeRange* range, std::uint32_t index,
                                                 Hot& hot, wire::FrameSource& source) noexcept {
    const bool has_record = hot.exact && has_own_record(hot);
    // A call through an invalid pointer (such as null) has only pushed its return address.
    if (range == nullptr) {
      return has_record ? step_by_frame_pointer(index, hot, source) : step_by_guess(hot, source);
    }
    if (!hot.exact && is_entered_by_return(*range, index, hot)) {
      mark_exact(index);
      return StepStatus::kRoot;
    }
    if (is_end_of_fiber(hot)) return StepStatus::kRoot;
    if (table_at(*range, index, hot) != nullptr) {
      const bool from_top = hot.exact && !has_record && is_called_from_top(index, hot);
      // Where calls leave the return address in a register, the code may have a frame nevertheless.
      if (!range->is_registered && !(from_top && kReturnAddressIsPushed)) note_hole(index, hot);
      if (from_top) return step_by_guess(hot, source);
    }
    if (!is_known(hot, kFrameRegister)) return StepStatus::kUnknownRegister;
    // The ABI's mark of the outermost frame.
    if (hot.frame == 0 && !hot.exact) return StepStatus::kRoot;
    const StepStatus status = step_by_frame_pointer(index, hot, source);
    return status != StepStatus::kOk && hot.exact ? step_by_guess(hot, source) : status;
  }

  // The innermost one: after it no frame is certain.
  void note_hole(std::uint32_t index, const Hot& hot) noexcept {
    if (!frames_.hole.exists) frames_.hole = {.exists = true, .frame = index, .stack = hot.stack};
  }

  // No call precedes this return address, and CFI begins exactly there: it was put on a new stack
  // so that the outermost function returns to that code (__start_context after a makecontext
  // function; its CFI wrongly describes a caller).
  bool is_entered_by_return(const CodeRange& range, std::uint32_t index, const Hot& hot) noexcept {
    // JIT compilers put no such addresses on stacks, and this table may be outdated.
    const UnwindTable* const table = range.is_registered ? nullptr : map_.table_of(range);
    if (table == nullptr || hot.pc >= range.end ||
        table->find(hot.pc - range.load_bias) == nullptr) {
      return false;
    }
    if constexpr (Reader::kReadsCode) {
      std::uint64_t before = 0;
      return reader_.read_word(hot.pc - sizeof before, before) &&
             map_.find(direct_call_target(before, hot.pc)) == nullptr;
    } else {
      return claim({.address = hot.pc,
                    .begin = 1,
                    .end = ~std::uint64_t{0},
                    .frame = index,
                    .kind = CodeClaim::Kind::kNoCallBefore});
    }
  }

  // Boost's make_fcontext, which PHP's fibers use too, starts a context with the code that ends it
  // as both return address and frame pointer. That code has no CFI. A frame pointer never points to
  // code. Source: Boost.Context, make_x86_64_sysv_elf_gas.S.
  static bool is_end_of_fiber(const Hot& hot) noexcept {
    return !hot.exact && is_known(hot, kFrameRegister) && hot.frame == hot.pc;
  }

  // The frame record has the return address that its register still has, too: the code has made it,
  // and has called nothing yet; or it is its caller's, which the same call has called.
  bool has_own_record(const Hot& hot) noexcept {
    std::uint64_t saved = 0;
    return !kReturnAddressIsPushed && is_known(hot, kFrameRegister) &&
           is_known(hot, kBaseRegister) && hot.frame >= hot.stack &&
           reader_.read_word(hot.frame + sizeof saved, saved) && saved == hot.base;
  }

  // In an image with CFI, code without it is assembly, mostly leaf functions that do not change the
  // frame pointer: following it would skip their caller. If the word on top of the stack is the
  // return address of a call to this code, it is the caller. Generated code has no such gaps.
  bool is_called_from_top(std::uint32_t index, const Hot& hot) noexcept {
    const std::uint64_t begin = hot.pc - (kLargestBare - 1);
    if constexpr (kReturnAddressIsPushed) {
      return is_call_at(hot.stack, begin, hot.pc + 1, index);
    } else {
      const std::uint64_t return_address = plain_return_address(hot.base);
      return is_known(hot, kBaseRegister) &&
             (is_call_before(return_address, begin, hot.pc + 1, index) ||
              returns_by_register(return_address, hot.pc));
    }
  }
  // In a handler's walk, which must not read code, check_code_claims decides.
  bool returns_by_register(std::uint64_t return_address, std::uint64_t pc) noexcept {
    if constexpr (Reader::kReadsCode) {
      return is_return_address(return_address) &&
             ends_as_leaf(pc, [this](std::uint64_t address, std::uint64_t& out) {
               return reader_.read_word(address, out);
             });
    } else {
      return false;
    }
  }

  // Code that switches to another stack, as Go does for calls into C, keeps the frame pointer of
  // its frame on the first stack. It is followed if the return address there was pushed by a call
  // to this code, and only a limited number of times, because two stacks may point to each other.
  bool is_called_from_other_stack(std::uint32_t index, const Hot& hot) noexcept {
    if (stack_switches_left_ == 0) return false;
    --stack_switches_left_;
    return is_call_at(hot.frame + sizeof hot.frame, hot.pc - (kLargestBare - 1), hot.pc, index);
  }

  // Whether a direct call into [begin, end) pushed the return address at `address`.
  bool is_call_at(std::uint64_t address, std::uint64_t begin, std::uint64_t end,
                  std::uint32_t index) noexcept {
    std::uint64_t return_address = 0;
    if (!reader_.read_word(address, return_address)) return false;
    return_address = original_return_address(return_address);
    return is_call_before(return_address, begin, end, index);
  }
  bool is_call_before(std::uint64_t return_address, std::uint64_t begin, std::uint64_t end,
                      std::uint32_t index) noexcept {
    if (!is_return_address(return_address)) return false;
    if constexpr (Reader::kReadsCode) {
      std::uint64_t before = 0;
      if (!reader_.read_word(return_address - sizeof before, before)) return false;
      const std::uint64_t target = direct_call_target(before, return_address);
      return target >= begin && target < end;
    } else {
      return claim({.address = return_address,
                    .begin = begin,
                    .end = end,
                    .frame = index,
                    .kind = CodeClaim::Kind::kCallBefore});
    }
  }

  StepStatus step_by_frame_pointer(std::uint32_t index, Hot& hot,
                                   wire::FrameSource& source) noexcept {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    std::uint64_t saved_frame = 0;
    std::uint64_t return_address = 0;
    if (hot.frame % kWord != 0) return StepStatus::kNoRule;
    if (hot.frame < hot.stack && !is_called_from_other_stack(index, hot))
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
    if (return_address != 0 && !is_return_address(return_address)) return StepStatus::kNoRule;
    source = wire::FrameSource::kFramePointer;
    hot.stack = hot.frame + 2 * kWord;
    hot.frame = saved_frame;
    hot.pc = return_address;
    // It is unknown whether and where that code saved it. Frame records may be anywhere in a frame,
    // so the stack pointer is only known not to be below them.
    hot.known &= ~bit_of(kBaseRegister);
    if (!kReturnAddressIsPushed) hot.known &= ~bit_of(kStackRegister);
    forget_others(hot);
    return StepStatus::kOk;
  }

  // For code that has not used its stack yet, or no longer uses it: the return address is on top,
  // or in its register.
  StepStatus step_by_guess(Hot& hot, wire::FrameSource& source) noexcept {
    if (!hot.exact) return StepStatus::kNoRule;
    std::uint64_t return_address = hot.base;
    if (kReturnAddressIsPushed && !reader_.read_word(hot.stack, return_address)) {
      return StepStatus::kUnreadable;
    }
    if (!kReturnAddressIsPushed && !is_known(hot, kBaseRegister)) {
      return StepStatus::kUnknownRegister;
    }
    return_address = plain_return_address(original_return_address(return_address));
    if (!is_return_address(return_address)) return StepStatus::kNoRule;
    source = wire::FrameSource::kGuess;
    if (kReturnAddressIsPushed) hot.stack += sizeof return_address;
    hot.pc = return_address;
    forget_others(hot);
    return StepStatus::kOk;
  }

  bool is_return_address(std::uint64_t address) const noexcept {
    return address != 0 && map_.find(lookup_address(address, PcKind::kReturnAddress)) != nullptr;
  }

  void finish(std::uint32_t count, WalkEnd end) noexcept {
    frames_.flags = 0;
    frames_.omitted_at = 0;
    frames_.frame_count = count;
    if (end == WalkEnd::kRoot) {
      frames_.flags |= wire::kStackRootReached;
    } else if (end != WalkEnd::kCut) {
      frames_.flags |= wire::kStackBroken;
    }
    if (count <= wire::kMaxFrames) return;
    frames_.flags |= wire::kStackCut;
    frames_.omitted_at = kKeptInner;
    frames_.frame_count = wire::kMaxFrames;
    const std::uint32_t oldest = slot(count);  // where the next frame would be stored
    const auto put_in_order = [oldest](auto& values) {
      std::rotate(values.begin() + kKeptInner, values.begin() + oldest, values.end());
    };
    put_in_order(frames_.pcs);
    put_in_order(frames_.kinds);
    put_in_order(frames_.stacks);
  }

  static constexpr std::uint64_t kLargestBare = 4096;  // of a function in assembly

  const CodeMap& map_;
  Reader& reader_;
  FrameBuffer& frames_;
  Registers registers_;
  ChecksumVerifier verifier_;
  unsigned stack_switches_left_ = 8;
  [[no_unique_address]] RuntimeCode code_;
};

}  // namespace swipr::unwind
