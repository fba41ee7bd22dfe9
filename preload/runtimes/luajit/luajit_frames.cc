#include "preload/runtimes/luajit/luajit_frames.h"

#include <array>
#include <optional>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/luajit/luajit_code_aarch64.h"
#include "preload/runtimes/luajit/luajit_innermost.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::runtimes {
namespace {

using unwind::StepStatus;

// From the stack pointer to the machine's frame: registers that leave compiled code saves, and its
// spilled values, of which there are 1 KiB.
constexpr std::uint64_t kDeepestFrame = 1536;
constexpr std::uint64_t kLargestNesting = 1 << 26;  // of native frames between two of the machine

// The low bits of a link, which is the caller's next instruction or the distance of its frame.
enum LuaJitLink : std::uint64_t {
  kLinkIsLua = 0,       // the lowest two bits: an instruction
  kLinkIsC = 1,         // likewise: called from C
  kLinkContinues = 2,   // three bits: a metamethod
  kLinkIsVariadic = 3,  // three bits: another frame of the same function
};

}  // namespace

// One step.
class LuaJitStep {
 public:
  LuaJitStep(LuaJitWalk& walk, const LuaJitReaders& readers, unwind::Registers& registers,
             bool exact) noexcept
      : walk_(walk),
        objects_(readers),
        registers_(registers),
        place_{.objects = objects_,
               .registers = registers,
               .stack_begin = walk.stack_,
               .is_exact = exact,
               .is_resuming = walk.is_resuming_} {}

  StepStatus run() noexcept {
    if (!kIsX86_64 && place_.is_exact && leave_without_frame()) return StepStatus::kOk;
    if (!walk_.is_machine(registers_.values[unwind::kPcRegister]) &&
        walk_.has_tables(registers_.values[unwind::kPcRegister])) {
      return leave_ffi_call();
    }
    place_.is_machine = walk_.is_machine(registers_.values[unwind::kPcRegister]);
    if (!find_frame()) return place_.is_machine ? StepStatus::kUseTables : StepStatus::kNoRule;
    if (is_new_) add_calls();
    walk_.next_ = place_.native.previous & ~kLuaJitFlags;
    walk_.thread_ = walk_.next_ == 0 ? 0 : place_.native.thread;
    walk_.is_resuming_ = walk_.is_machine(place_.native.return_address);
    return leave({.frame = place_.native.saved_frame,
                  .base = place_.native.saved_base,
                  .stack = place_.at + kLuaJitNativeBytes,
                  .pc = place_.native.return_address});
  }

 private:
  bool is_code(std::uint64_t return_address) const noexcept {
    return walk_.map_.find(return_address - 1) != nullptr;
  }

  // aarch64: code that has not made its frame yet, or has left it.
  bool leave_without_frame() noexcept {
    const std::uint64_t pc = registers_.values[unwind::kPcRegister];
    std::array<std::uint32_t, 2> code{};
    if (!walk_.has_tables(pc) || !registers_.knows(unwind::kBaseRegister) ||
        !registers_.knows(unwind::kFrameRegister) || !objects_.read(pc - 4, code)) {
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
      if (!objects_.read_word(at, saved[2])) break;
      saved[2] = unwind::plain_return_address(saved[2]);
      if (!is_code(saved[2]) || !objects_.read(saved[2] - sizeof call, call) ||
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

  // The machine's frame from the stack pointer on, to which a thread refers. It is in
  // place_.native.
  bool find_frame() noexcept {
    const std::uint64_t stack = registers_.values[unwind::kStackRegister];
    if (stack % 8 != 0 || (place_.is_machine && walk_.tokens_ == nullptr)) return false;
    if (!kIsX86_64 && registers_.knows(unwind::kFrameRegister)) {
      place_.at = registers_.values[unwind::kFrameRegister] - kLuaJitFrameRecord;
      return place_.at % 8 == 0 && place_.at - stack <= kDeepestFrame &&
             objects_.read_native(place_.at, place_.native) && is_frame();
    }
    for (place_.at = stack; place_.at - stack <= kDeepestFrame; place_.at += 8) {
      if (!objects_.read_native(place_.at, place_.native)) return false;
      if (is_frame()) return !kIsX86_64 || !is_being_made(stack);
    }
    return false;
  }

  bool is_frame() noexcept {
    const std::uint64_t previous = place_.native.previous & ~kLuaJitFlags;
    const bool may_be =
        previous == 0 || (previous % 8 == 0 && previous - place_.at < kLargestNesting);
    place_.native.return_address =
        unwind::plain_return_address(unwind::original_return_address(place_.native.return_address));
    if (!may_be || !is_object_address(place_.native.thread) ||
        !is_code(place_.native.return_address)) {
      return false;
    }
    if (walk_.tokens_ == nullptr) return true;
    is_new_ = place_.native.thread != walk_.thread_ || place_.at != walk_.next_;
    return !is_new_ || (read_thread(place_.native.thread) &&
                        (place_.head.native_frame & ~kLuaJitFlags) == place_.at);
  }

  bool read_thread(std::uint64_t address) noexcept {
    LuaJitThread main{};
    std::uint64_t main_thread = 0;
    return objects_.read(address, place_.head) && place_.head.type == kLuaJitThread &&
           is_object_address(place_.head.global) &&
           objects_.read(place_.head.global + kLuaJitMainThread, main_thread) &&
           is_object_address(main_thread) && objects_.read(main_thread, main) &&
           main.type == kLuaJitThread && main.global == place_.head.global;
  }

  // What was found is an outer one: the machine's code saves or restores registers, and its CFI is
  // right. In helpers of compiled code and at its exits the CFI is wrong.
  bool is_being_made(std::uint64_t stack) noexcept {
    LuaJitNativeFrame own;
    return place_.is_machine && place_.is_exact && place_.at > stack + 8 &&
           place_.jit_base() == 0 && objects_.read_native(stack, own) &&
           is_code(own.return_address);
  }

  void add_calls() noexcept {
    std::uint64_t base = 0;
    std::uint64_t next = 0;
    if (!find_innermost(place_, is_compiled_, base, next)) return;
    bool is_same = false;  // another frame of the last function
    native_at_ = place_.at;
    outer_ = place_.native;
    for (std::uint64_t frame = base - kLuaJitSlotBytes;
         frame > place_.head.stack + kLuaJitSlotBytes;) {
      LuaJitSlots slots{};
      if (walk_.calls_left_ == 0 || !objects_.read(frame - kLuaJitSlotBytes, slots)) return;
      --walk_.calls_left_;
      if (!is_same && (slots.function & kLuaJitObjectBits) != place_.native.thread) {
        LuaJitCall call;
        if (!objects_.read_call(slots.function, call)) return;
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
    const std::uint64_t above = frame - place_.head.stack;
    next = 0;
    if ((link & 3) == kLinkIsLua) {
      next = link;
      const std::uint64_t outer = objects_.caller_base(frame, link);
      if (outer >= frame) return false;
      frame = outer;
      return true;
    }
    bool is_of_c = (link & 3) == kLinkIsC;
    if ((link & 7) == kLinkContinues) {
      std::array<std::uint64_t, 2> continuation{};
      if (!objects_.read(frame - 3 * kLuaJitSlotBytes, continuation)) return false;
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
    return objects_.read_native(previous, outer_);
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
  LuaJitObjects objects_;
  unwind::Registers& registers_;
  LuaJitPlace place_;  // of the machine's frame
  bool is_new_ = false;

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
