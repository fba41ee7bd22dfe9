// Longer than others: one step, whose parts share its state.
#include "preload/runtimes/luajit/luajit_frames.h"

#include <bit>
#include <cstddef>
#include <optional>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/luajit/luajit_code_aarch64.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::runtimes {
namespace {

using unwind::StepStatus;

// From the stack pointer to the machine's frame: registers that leave compiled code saves, and its
// spilled values, of which there are 1 KiB.
constexpr std::uint64_t kDeepestFrame = 1536;
constexpr std::uint64_t kLargestNesting = 1 << 26;  // of native frames between two of the machine
constexpr std::uint64_t kSlotBytes = 8;
constexpr std::uint64_t kObjectBits = (std::uint64_t{1} << 47) - 1;  // of a value

// The low bits of a link, which is the caller's next instruction or the distance of its frame.
enum LuaJitLink : std::uint64_t {
  kLinkIsLua = 0,       // the lowest two bits: an instruction
  kLinkIsC = 1,         // likewise: called from C
  kLinkContinues = 2,   // three bits: a metamethod
  kLinkIsVariadic = 3,  // three bits: another frame of the same function
};

constexpr bool is_object_address(std::uint64_t address) noexcept {
  return address >= kObjectPageBytes && address % 8 == 0 &&
         address >> unwind::kUserAddressBits == 0;
}

struct LuaJitCall {
  std::uint64_t code = 0;  // 0: a function of C
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // of its instructions
  std::uint32_t fingerprint = 0;
  std::uint64_t built_in = 0;  // what tells one function of C from others
  std::uint64_t entry = 0;     // the instruction pointer in a function of C

  // The first one is next before the function has begun.
  bool is_instruction(std::uint64_t next) const noexcept {
    return code != 0 && next >= begin && next <= end;
  }
  std::uint32_t position(std::uint64_t next) const noexcept {
    return is_instruction(next) ? static_cast<std::uint32_t>((next - begin) / 4 - 1) : kNoPosition;
  }
};

}  // namespace

// One step.
class LuaJitStep {
 public:
  LuaJitStep(LuaJitWalk& walk, const LuaJitReaders& readers, unwind::Registers& registers,
             bool exact) noexcept
      : walk_(walk), readers_(readers), registers_(registers), is_exact_(exact) {}

  StepStatus run() noexcept {
    if (!kIsX86_64 && is_exact_ && leave_without_frame()) return StepStatus::kOk;
    if (!walk_.is_machine(registers_.values[unwind::kPcRegister]) &&
        walk_.has_tables(registers_.values[unwind::kPcRegister])) {
      return leave_ffi_call();
    }
    is_machine_ = walk_.is_machine(registers_.values[unwind::kPcRegister]);
    if (!find_frame()) return is_machine_ ? StepStatus::kUseTables : StepStatus::kNoRule;
    if (is_new_) add_calls();
    walk_.next_ = native_.previous & ~kLuaJitFlags;
    walk_.thread_ = walk_.next_ == 0 ? 0 : native_.thread;
    walk_.is_resuming_ = walk_.is_machine(native_.return_address);
    return leave({.frame = native_.saved_frame,
                  .base = native_.saved_base,
                  .stack = at_ + kLuaJitNativeBytes,
                  .pc = native_.return_address});
  }

 private:
  struct Slots {
    std::uint64_t function;
    std::uint64_t link;
  };

  // Not inline: they are called in many places.
  __attribute__((noinline)) bool read_bytes(std::uint64_t address, void* out,
                                            std::size_t bytes) noexcept {
    return readers_.objects.read(readers_.objects.state, address,
                                 {static_cast<std::byte*>(out), bytes});
  }
  template <typename T>
  bool read(std::uint64_t address, T& out) noexcept {
    return read_bytes(address, &out, sizeof out);
  }
  bool read_word(std::uint64_t at, std::uint64_t& word) noexcept {
    return readers_.stack.read_word(readers_.stack.state, at, word);
  }
  __attribute__((noinline)) bool read_native(std::uint64_t at, LuaJitNativeFrame& out) noexcept {
    std::array<std::uint64_t, kLuaJitNativePlaces.size()> words{};
    for (std::size_t index = 0; index < words.size(); ++index) {
      if (!read_word(at + kLuaJitNativePlaces[index], words[index])) return false;
    }
    out = std::bit_cast<LuaJitNativeFrame>(words);
    return true;
  }

  bool is_code(std::uint64_t return_address) const noexcept {
    return walk_.map_.find(return_address - 1) != nullptr;
  }

  // aarch64: code that has not made its frame yet, or has left it.
  bool leave_without_frame() noexcept {
    const std::uint64_t pc = registers_.values[unwind::kPcRegister];
    std::array<std::uint32_t, 2> code{};
    if (!walk_.has_tables(pc) || !registers_.knows(unwind::kBaseRegister) ||
        !registers_.knows(unwind::kFrameRegister) || !read(pc - 4, code)) {
      return false;
    }
    const std::uint64_t caller =
        unwind::plain_return_address(registers_.values[unwind::kBaseRegister]);
    const std::optional<std::uint64_t> distance = luajit_caller_distance(code);
    if (!distance || !is_code(caller)) return false;
    walk_.is_resuming_ = walk_.is_machine(caller);
    leave({.frame = registers_.values[unwind::kFrameRegister],
           .base = 0,
           .stack = registers_.values[unwind::kStackRegister] + *distance,
           .pc = caller});
    return true;
  }

  // lj_vm_ffi_call() has its frame at rbp or x29, which walks of blocked threads may not know: the
  // frame ends at the return address of a call of it.
  StepStatus leave_ffi_call() noexcept {
    constexpr std::uint64_t kMostArguments = 1024;  // bytes
    std::uint64_t at = registers_.values[unwind::kStackRegister];
    if (registers_.knows(unwind::kFrameRegister)) return StepStatus::kUseTables;
    std::array<std::uint64_t, 3> saved{};  // rbx, rbp and the return address
    for (const std::uint64_t end = at + kMostArguments; at < end; at += 8) {
      std::uint64_t call = 0;
      saved = {saved[1], saved[2], 0};
      if (!read_word(at, saved[2])) break;
      saved[2] = unwind::plain_return_address(saved[2]);
      if (!is_code(saved[2]) || !read(saved[2] - sizeof call, call) ||
          unwind::direct_call_target(call, saved[2]) != walk_.lua_.loop.end) {
        continue;
      }
      return leave({.frame = saved[1], .base = saved[0], .stack = at + 8, .pc = saved[2]});
    }
    return StepStatus::kUseTables;
  }

  struct Caller {
    std::uint64_t frame, base, stack, pc;
  };
  StepStatus leave(const Caller& caller) noexcept {
    registers_.values[unwind::kPcRegister] = caller.pc;
    registers_.values[unwind::kStackRegister] = caller.stack;
    registers_.values[unwind::kFrameRegister] = caller.frame;
    registers_.values[unwind::kBaseRegister] = caller.base;
    registers_.known = unwind::kCallersRegisters;
    return StepStatus::kOk;
  }

  // The machine's frame from the stack pointer on, to which a thread refers. It is in native_.
  bool find_frame() noexcept {
    const std::uint64_t stack = registers_.values[unwind::kStackRegister];
    if (stack % 8 != 0 || (is_machine_ && walk_.tokens_ == nullptr)) return false;
    if (!kIsX86_64 && registers_.knows(unwind::kFrameRegister)) {
      at_ = registers_.values[unwind::kFrameRegister] - kLuaJitFrameRecord;
      return at_ % 8 == 0 && at_ - stack <= kDeepestFrame && read_native(at_, native_) &&
             is_frame();
    }
    for (at_ = stack; at_ - stack <= kDeepestFrame; at_ += 8) {
      if (!read_native(at_, native_)) return false;
      if (is_frame()) return !kIsX86_64 || !is_being_made(stack);
    }
    return false;
  }

  bool is_frame() noexcept {
    const std::uint64_t previous = native_.previous & ~kLuaJitFlags;
    const bool may_be = previous == 0 || (previous % 8 == 0 && previous - at_ < kLargestNesting);
    native_.return_address =
        unwind::plain_return_address(unwind::original_return_address(native_.return_address));
    if (!may_be || !is_object_address(native_.thread) || !is_code(native_.return_address)) {
      return false;
    }
    if (walk_.tokens_ == nullptr) return true;
    is_new_ = native_.thread != walk_.thread_ || at_ != walk_.next_;
    return !is_new_ || (read_thread(native_.thread) && (head_.native_frame & ~kLuaJitFlags) == at_);
  }

  bool read_thread(std::uint64_t address) noexcept {
    LuaJitThread main{};
    std::uint64_t main_thread = 0;
    return read(address, head_) && head_.type == kLuaJitThread && is_object_address(head_.global) &&
           read(head_.global + kLuaJitMainThread, main_thread) && is_object_address(main_thread) &&
           read(main_thread, main) && main.type == kLuaJitThread && main.global == head_.global;
  }

  // What was found is an outer one: the machine's code saves or restores registers, and its CFI is
  // right. In helpers of compiled code and at its exits the CFI is wrong.
  bool is_being_made(std::uint64_t stack) noexcept {
    LuaJitNativeFrame own;
    return is_machine_ && is_exact_ && at_ > stack + 8 && jit_base() == 0 &&
           read_native(stack, own) && is_code(own.return_address);
  }

  // 0: the thread does not run compiled code.
  std::uint64_t jit_base() noexcept {
    for (const std::uint64_t place : kLuaJitCurrent) {
      Slots found{};
      if (!read(head_.global + place, found)) return 0;
      if (found.function == native_.thread) return found.link;
    }
    return 0;
  }

  bool is_base(std::uint64_t base) const noexcept {
    return base % kSlotBytes == 0 && base >= head_.stack + 2 * kSlotBytes &&
           base <= head_.stack_end;
  }

  bool read_call(std::uint64_t object, LuaJitCall& out) noexcept {
    LuaJitFunction function{};
    object &= kObjectBits;
    out = {};
    if (!is_object_address(object) || !read(object, function) ||
        function.type != kLuaJitFunctionType) {
      return false;
    }
    if (function.kind != 0) {
      out.built_in = function.c_function + function.instructions;  // either may be of several
      out.entry = function.instructions + 4;
      return true;
    }
    LuaJitCode code{};
    const std::uint64_t at = function.instructions - sizeof code;
    if (!is_object_address(at) || !read(at, code) || code.type != kLuaJitCodeType) return false;
    out.code = at;
    out.begin = function.instructions;
    out.end = out.begin + std::uint64_t{code.instruction_count} * 4;
    out.fingerprint = fingerprint_of(code);
    return true;
  }

  // The function at this base is where the instruction pointer is.
  bool runs(std::uint64_t base, std::uint64_t next) noexcept {
    Slots slots{};
    LuaJitCall call;
    if (!is_base(base) || !read(base - sizeof slots, slots) || !read_call(slots.function, call)) {
      return false;
    }
    if (call.code != 0) return call.is_instruction(next);
    return next == call.entry || next + 4 == call.entry || next == (slots.link & ~std::uint64_t{3});
  }

  std::uint64_t caller_base(std::uint64_t base, std::uint64_t next) noexcept {
    std::uint32_t instruction = 0;
    if (!read(next - 4, instruction)) return 0;
    return base - (2 + (instruction >> 8 & 0xff)) * kSlotBytes;
  }

  // The base of the innermost function, and its next instruction, if it is known.
  bool find_base(std::uint64_t& base, std::uint64_t& next) noexcept {
    base = jit_base();
    next = 0;
    if (base != 0) {
      is_compiled_ = true;
      return is_base(base);
    }
    if (native_.result_count < 0) {
      // It runs a function of LuaJIT itself, which has the state saved.
      base = head_.base;
      return is_base(base);
    }
    if (!kIsX86_64) return find_base_by_code(base, next);
    if (registers_.knows(unwind::kBaseRegister) && !walk_.is_resuming_) {
      next = registers_.values[unwind::kBaseRegister] & ~std::uint64_t{3};
      const unsigned held = is_exact_ ? kLuaJitBaseRegister : unwind::kFrameRegister;
      const std::uint64_t known = registers_.knows(held) ? registers_.values[held] : 0;
      for (const std::uint64_t found : {known, head_.base}) {
        base = found;
        if (runs(base, next)) return true;
        base = caller_base(base, next);  // the call begins or ends
        if (runs(base, next)) return true;
      }
    }
    base = head_.base;
    next = native_.instruction & ~kLuaJitFlags;
    if (!registers_.knows(unwind::kBaseRegister) || walk_.is_resuming_) return runs(base, next);
    next = 0;
    return at_ - registers_.values[unwind::kStackRegister] > 8 && is_base(base);
  }

  // aarch64: callees may have saved the machine's registers anywhere. Most calls follow code that
  // saves what is current. Functions of libm keep the instruction pointer in its register, and the
  // base there or in their frames.
  bool find_base_by_code(std::uint64_t& base, std::uint64_t& next) noexcept {
    const std::uint64_t stack = registers_.values[unwind::kStackRegister];
    const std::uint64_t pc = registers_.values[unwind::kPcRegister];
    const std::uint64_t saved_next = native_.instruction & ~kLuaJitFlags;
    if (walk_.is_resuming_) return runs(base = head_.base, next = saved_next);
    std::array<std::uint32_t, kLuaJitCallCode> code{};
    if (is_machine_ && !is_exact_ && read(pc - sizeof code, code)) {
      const LuaJitSaved saved = saved_before_call(code);
      if (saved.base) {
        base = head_.base;
        next = saved.instruction && runs(base, saved_next) ? saved_next : 0;
        return is_base(base);
      }
    }
    next = registers_.values[kLuaJitInstructionRegister] & ~std::uint64_t{3};
    const std::uint64_t held = registers_.values[kLuaJitBaseRegister];
    for (const std::uint64_t found : {held, head_.base}) {
      base = found;
      if (runs(base, next)) return true;
      base = caller_base(base, next);  // the call begins or ends
      // Returns move the base past each result that they have copied.
      constexpr unsigned kMostResults = 4;
      for (unsigned left = is_exact_ && found == held ? kMostResults : 0;; --left, base -= 8) {
        if (runs(base, next)) return true;
        if (left == 0) break;
      }
      if (!is_exact_) break;
    }
    constexpr std::uint64_t kCalleesBytes = 512;
    for (std::uint64_t at = stack - 8; !is_exact_ && at >= walk_.stack_; at -= 8) {
      if (stack - at > kCalleesBytes || !read_word(at, base)) break;
      if (runs(base, next)) return true;
    }
    base = head_.base;
    next = 0;
    return at_ > stack && is_base(base);  // compiled code is being left
  }

  void add_calls() noexcept {
    std::uint64_t base = 0;
    std::uint64_t next = 0;
    if (!find_base(base, next)) return;
    bool is_same = false;  // another frame of the last function
    native_at_ = at_;
    outer_ = native_;
    for (std::uint64_t frame = base - kSlotBytes; frame > head_.stack + kSlotBytes;) {
      Slots slots{};
      if (walk_.calls_left_ == 0 || !read(frame - kSlotBytes, slots)) return;
      --walk_.calls_left_;
      if (!is_same && (slots.function & kObjectBits) != native_.thread) {
        LuaJitCall call;
        if (!read_call(slots.function, call)) return;
        add_pending(call, next);
        make_pending(call, next);
      } else if (!is_same) {
        next = 0;
      }
      is_same = (slots.link & 7) == kLinkIsVariadic;
      if (!pass(slots.link, frame, next)) break;
    }
    add_pending({}, 0);
  }

  // Goes on to the frame of the caller. `next`: the caller's next instruction; 0: not known.
  bool pass(std::uint64_t link, std::uint64_t& frame, std::uint64_t& next) noexcept {
    const std::uint64_t size = link & ~std::uint64_t{7};
    const std::uint64_t above = frame - head_.stack;
    next = 0;
    if ((link & 3) == kLinkIsLua) {
      next = link;
      const std::uint64_t outer = caller_base(frame, link);
      if (outer >= frame) return false;
      frame = outer;
      return true;
    }
    bool is_of_c = (link & 3) == kLinkIsC;
    if ((link & 7) == kLinkContinues) {
      std::array<std::uint64_t, 2> continuation{};
      if (!read(frame - 3 * kSlotBytes, continuation)) return false;
      next = continuation[1];
      is_of_c = continuation[0] == 1;  // LJ_CONT_FFI_CALLBACK
    }
    if (is_of_c && !end_group(above)) return false;
    if (is_of_c) next = outer_.instruction;
    if (size == 0 || size > above) return false;
    frame -= size;
    return true;
  }

  // `above`: how far the function's frame is from the beginning of the stack.
  bool end_group(std::uint64_t above) noexcept {
    while (outer_.result_count < 0 &&
           above <
               std::uint64_t{0} - static_cast<std::uint64_t>(std::int64_t{outer_.result_count})) {
      if (!pass_native()) return false;
    }
    pending_.flags |= kTokenEndsLoop;
    pending_.mark = native_at_ + kLuaJitReturnAddress;
    return pass_native();
  }
  bool pass_native() noexcept {
    const std::uint64_t previous = outer_.previous & ~kLuaJitFlags;
    if (previous <= native_at_ || previous - native_at_ > kLargestNesting) return false;
    if (walk_.calls_left_ == 0) return false;
    --walk_.calls_left_;
    native_at_ = previous;
    return read_native(previous, outer_);
  }

  void make_pending(const LuaJitCall& call, std::uint64_t next) noexcept {
    has_pending_ = true;
    pending_ = {.code = call.code,
                .fingerprint = call.fingerprint,
                .position = call.position(next),
                .kind = TokenKind::kLua};
    if (call.code == 0) {
      pending_.code = call.built_in;
      pending_.flags = kTokenBuiltIn;
    } else if (is_compiled_) {
      pending_.flags = kTokenCompiled;
    }
    is_compiled_ = false;
  }

  // `next` of its caller, which has called it there.
  void add_pending(const LuaJitCall& caller, std::uint64_t next) noexcept {
    if (!has_pending_) return;
    const std::uint32_t position = caller.position(next);
    if ((pending_.flags & kTokenEndsLoop) == 0 && position != kNoPosition) {
      pending_.mark = pack_lua_call(caller.code, position);
      if (pending_.mark != 0) pending_.fingerprint |= std::uint64_t{caller.fingerprint} << 32;
    }
    // The native frames stand for it.
    if ((pending_.flags & kTokenBuiltIn) != 0 && pending_.fingerprint == 0) return;
    walk_.tokens_->add(pending_);
  }

  LuaJitWalk& walk_;
  const LuaJitReaders& readers_;
  unwind::Registers& registers_;
  bool is_exact_;
  bool is_machine_ = false;

  std::uint64_t at_ = 0;
  LuaJitNativeFrame native_{};
  bool is_new_ = false;
  LuaJitThread head_{};  // if it is

  // Of the calls of a thread: the native frame of the function that is read.
  std::uint64_t native_at_ = 0;
  LuaJitNativeFrame outer_{};
  Token pending_{};
  bool has_pending_ = false;
  bool is_compiled_ = false;  // the next function that is read
};

std::uint32_t fingerprint_of(const LuaJitCode& code) noexcept {
  std::uint64_t hash = mix_hash(code.constants, code.lines);
  for (const std::uint64_t part :
       {code.source, std::uint64_t{code.first_line} << 32 | code.instruction_count,
        std::uint64_t{code.line_count} << 32 | code.bytes}) {
    hash = mix_hash(hash, part);
  }
  return static_cast<std::uint32_t>(hash >> 32) | 1;  // 0: none
}

// Machine code that is made at run time is in the range of jumps to the machine's own.
bool LuaJitWalk::contains(std::uint64_t pc) const noexcept {
  constexpr std::uint64_t kReach = std::uint64_t{1} << 31;
  if (has_tables(pc)) return true;
  if (pc - lua_.loop.begin + kReach >= 2 * kReach) return false;
  const unwind::CodeRange* const range = map_.find(pc);
  return range == nullptr || range->table == nullptr || range->is_registered;
}

StepStatus LuaJitWalk::step(unwind::Registers& registers, bool exact,
                            const LuaJitReaders& readers) noexcept {
  return LuaJitStep(*this, readers, registers, exact).run();
}

}  // namespace swipr::runtimes
