// Longer than others: one walk, whose parts share its state.
#include "preload/runtimes/lua/lua_frames.h"

#include <algorithm>
#include <array>

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kInstructionBytes = 4;

constexpr bool may_be_object(std::uint64_t address) noexcept {
  return address >= kObjectPageBytes && address % 8 == 0 &&
         address >> unwind::kUserAddressBits == 0;
}

// A function of Lua that runs.
struct LuaFrame {
  std::uint64_t code = 0;  // 0: it is none, or unreadable
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // of its instructions
  std::uint32_t fingerprint = 0;
  std::uint32_t position = kNoPosition;

  bool is_instruction(std::uint64_t next) const noexcept {
    return next > begin && next <= end && next % kInstructionBytes == 0;
  }
  void set_next(std::uint64_t next) noexcept {
    if (is_instruction(next)) {
      position = static_cast<std::uint32_t>((next - begin) / kInstructionBytes - 1);
    }
  }
};

class LuaWalk {
 public:
  LuaWalk(const LuaRuntime& lua, unwind::ImageReader reader, const LuaStack& stack,
          LuaProtection& protection, TokenBuffer& tokens) noexcept
      : lua_(lua),
        reader_(reader),
        stack_(stack),
        count_(static_cast<std::uint32_t>(std::min(stack.pcs.size(), stack.stacks.size()))),
        protection_(protection),
        known_(protection.load(std::memory_order_relaxed)),
        tokens_(tokens) {}

  void run() noexcept {
    tokens_.clear();
    std::uint32_t first = 0;
    while (first < count_ && !is_loop(first)) ++first;
    if (first != count_) tokens_.finish(walk());
  }

 private:
  struct Protected {
    std::uint64_t thread = 0;  // a lua_State; 0: the native frame is no protected call
    std::uint64_t jump = 0;    // lua_longjmp
  };

  template <typename T>
  bool read(std::uint64_t address, T& out) noexcept {
    return read_bytes(address, &out, sizeof out);
  }
  // Once, and not where it is called: walks read in dozens of places.
  __attribute__((noinline)) bool read_bytes(std::uint64_t address, void* out,
                                            std::size_t bytes) noexcept {
    return reader_.read(reader_.state, address, {static_cast<std::byte*>(out), bytes});
  }

  bool is_loop(std::uint32_t at) const noexcept { return lua_.loop.contains(stack_.pcs[at]); }
  std::uint64_t end_of(std::uint32_t at) const noexcept {
    return at + 1 < count_ ? stack_.stacks[at + 1] : stack_.stacks[at];
  }

  // False: callers of functions are missing.
  bool walk() noexcept {
    bool is_whole = true;
    for (std::uint32_t at = 0; at < count_; ++at) {
      if (is_loop(at)) {
        if (loops_++ == 0) next_ = at;
        continue;
      }
      const Protected found = find_protected(at);
      if (found.thread == 0) continue;
      std::uint64_t outer = 0;
      if (thread_ == 0 ? !is_innermost(found) : found.thread != thread_) return false;
      if (!read(found.jump, outer)) return false;
      thread_ = found.thread;
      if (outer != 0) continue;
      is_whole = add_thread() && is_whole;
      thread_ = 0;
      loops_ = 0;
    }
    if (loops_ == 0) return is_whole;
    if (tokens_.added() == 0) protection_.store(0, std::memory_order_relaxed);  // look again
    if (thread_ == 0) thread_ = find_unprotected();
    return thread_ != 0 && add_thread() && is_whole;
  }

  // A call that is about to begin, or has ended, may lie before it.
  bool is_innermost(const Protected& found) noexcept {
    if (jump_ == found.jump) return true;
    return is_on_stack(jump_) && read(jump_, jump_) && jump_ == found.jump;
  }
  bool is_on_stack(std::uint64_t address) const noexcept {
    return address % 8 == 0 && address >= stack_.stacks[0] && address < stack_.stacks[count_ - 1];
  }

  Protected find_protected(std::uint32_t at) noexcept {
    if (known_ == 0) return search_protected(at);
    if (static_cast<std::uint32_t>(stack_.pcs[at] - lua_.loop.begin) != known_ >> 32) return {};
    Protected found{.jump = stack_.stacks[at] + (known_ & 0xffff)};
    const bool is_found = read(stack_.stacks[at] + (known_ >> 16 & 0xffff), found.thread) &&
                          read_thread(found.thread);
    return is_found ? found : Protected{};
  }

  // The address of a state that refers to this frame.
  Protected search_protected(std::uint32_t at) noexcept {
    constexpr std::uint64_t kMost = 512;  // bytes; setjmp's buffer has 200 to 312
    const std::uint64_t begin = stack_.stacks[at];
    const std::uint64_t end = std::max(begin, std::min(end_of(at), begin + kMost));
    for (std::uint64_t place = begin; place + 8 <= end; place += 8) {
      std::uint64_t thread = 0;
      if (!read(place, thread)) return {};
      if (!read_thread(thread) || jump_ < begin || jump_ >= end) continue;
      known_ = (stack_.pcs[at] - lua_.loop.begin) << 32 | (place - begin) << 16 | (jump_ - begin);
      protection_.store(known_, std::memory_order_relaxed);
      return {thread, jump_};
    }
    return {};
  }

  // Programs may call Lua without protection: then the loop has the address of the state.
  std::uint64_t find_unprotected() noexcept {
    constexpr std::uint32_t kFrames = 3;
    const std::uint32_t last = std::min(next_ + kFrames, count_ - 1);
    for (std::uint64_t place = stack_.stacks[next_]; place < stack_.stacks[last]; place += 8) {
      std::uint64_t address = 0;
      if (place - stack_.stacks[next_] > kObjectPageBytes || !read(place, address)) {
        return 0;
      }
      if (read_thread(address) && jump_ == 0 && head_.status == 0 &&
          head_.call != base_of(address)) {
        return address;
      }
    }
    return 0;
  }

  std::uint64_t base_of(std::uint64_t thread) const noexcept {
    return thread + lua_.protection_at + 8;
  }

  // False: it is none. Else it is in head_ and jump_.
  bool read_thread(std::uint64_t address) noexcept {
    LuaThreadHead main{};
    std::uint64_t main_thread = 0;
    return may_be_object(address) && read(address, head_) && head_.type == kLuaThread &&
           may_be_object(head_.global) && read(head_.global + kLuaMainThread, main_thread) &&
           may_be_object(main_thread) && read(main_thread, main) && main.type == kLuaThread &&
           main.global == head_.global && read(address + lua_.protection_at, jump_);
  }

  // The calls of thread_, whose loops are among the native frames from next_ on. False: some are
  // missing.
  bool add_thread() noexcept {
    if (loops_ == 0) return true;
    if (!read_thread(thread_)) return false;
    const std::uint32_t begin = tokens_.added();
    values_ = {head_.stack, head_.stack_end};
    groups_ = inner_groups_ = 0;
    has_gap_ = has_pending_ = is_entering_ = false;
    const bool is_whole = add_calls(head_.call, begin == 0);
    add_pending({}, {});
    // Its loop has not begun.
    if (is_whole && is_entering_ && loops_ + 1 == groups_) {
      tokens_.remove_first();
      place_groups(begin, 1, is_whole);
    } else {
      place_groups(begin, 0, is_whole);
    }
    return is_whole;
  }

  bool add_calls(std::uint64_t address, bool is_innermost) noexcept {
    LuaCall call{};
    for (; address != base_of(thread_); address = call.previous) {
      LuaFrame function{};
      if (left_ == 0 && !pass_gap(address)) return false;
      --left_;
      if (!may_be_object(address) || !read(address, call)) return false;
      const bool is_lua = (call.status & kLuaCallsC) == 0;
      if (is_lua && !read_function(call, function)) {
        if (!is_innermost) return false;
        is_innermost = false;  // it was linked before its function was known
        continue;
      }
      if (is_innermost && is_lua) {
        is_entering_ = begins_loop(call) && function.position == kNoPosition && !is_loop(0);
        take_registers(function);
      }
      is_innermost = false;
      add_pending(call, function);
      make_pending(call, function);
    }
    return true;
  }
  static bool begins_loop(const LuaCall& call) noexcept {
    return (call.status & (kLuaCallsC | kLuaBeginsLoop)) == kLuaBeginsLoop;
  }

  // Goes on with the calls that are next to the base, if there are others between.
  bool pass_gap(std::uint64_t& address) noexcept {
    std::uint64_t outer = base_of(thread_);
    if (has_passed_) return false;
    has_passed_ = true;
    constexpr std::uint64_t kNext = 24;
    for (; left_ != kOuterLuaCalls && outer != address; ++left_) {
      if (!read(outer + kNext, outer) || !may_be_object(outer)) return false;
    }
    has_gap_ = outer != address;
    if (has_gap_) {
      is_tail_called_ = true;  // the caller of the last one is not known
      inner_groups_ = groups_;
      address = outer;
    }
    return left_ != 0;
  }

  // A group is what one loop runs; `mark` has its number. Of a coroutine that was resumed, one loop
  // runs the innermost function that had a loop of its own, and all its callers.
  // The innermost loop may have no function any more.
  void place_groups(std::uint32_t begin, std::uint32_t first_group, bool is_whole) noexcept {
    std::uint32_t passed = 0;
    const std::uint32_t groups = groups_ - first_group;
    for (std::uint32_t index = begin; index < tokens_.added(); ++index) {
      Token* const token = tokens_.at(index);
      if (token == nullptr || (token->flags & kTokenEndsLoop) == 0) continue;
      const auto group = static_cast<std::uint32_t>(token->mark) - first_group;
      std::uint32_t loop = group;
      if (has_gap_ && group >= inner_groups_) {
        loop = loops_ - (groups - group);  // of none, if it is large
      } else if (is_whole && !has_gap_ && loops_ >= groups) {
        loop += loops_ - groups;
      } else if (is_whole && !has_gap_ && loop + 1 >= loops_) {
        loop = group + 1 == groups ? loops_ - 1 : loops_;
      }
      if (loop < passed || loop >= loops_) {
        token->flags = 0;
        token->mark = 0;
        continue;
      }
      for (; passed <= loop; ++passed) token->mark = stack_.stacks[next_loop()];
    }
    Token* const last = tokens_.last();
    if (passed < loops_ && !is_whole && begin < tokens_.added() && last->flags == 0) {
      last->flags = kTokenEndsLoop;
      last->mark = stack_.stacks[next_loop()];
    }
  }

  std::uint32_t next_loop() noexcept {
    while (next_ + 1 < count_ && !is_loop(next_)) ++next_;
    return next_ + 1 < count_ ? next_++ : next_;
  }

  void add_pending(const LuaCall& caller, const LuaFrame& function) noexcept {
    if (!has_pending_) return;
    const bool is_built_in = (pending_.flags & kTokenBuiltIn) != 0;
    const bool is_known = function.code != 0 || (caller.status & kLuaRunsFinalizer) != 0;
    if (is_built_in && !is_known) return;  // the native frames stand for it
    if (is_known && !is_tail_called_) name_pending(caller, function);
    tokens_.add(pending_);
  }

  void name_pending(const LuaCall& caller, const LuaFrame& function) noexcept {
    std::uint32_t half = kLuaUnknownCall;
    if ((caller.status & kLuaRunsFinalizer) != 0) {
      half = kLuaFinalizer;
    } else if ((caller.status & kLuaRunsHook) == 0 && function.position != kNoPosition) {
      if (is_own_loop_) {
        const std::uint64_t at = function.begin + function.position * kInstructionBytes;
        if (!read(at, half)) half = kLuaUnknownCall;
      } else if (pending_.mark = pack_lua_call(function.code, function.position);
                 pending_.mark != 0) {
        half = function.fingerprint;
      }
    }
    pending_.fingerprint |= std::uint64_t{half} << 32;
  }

  void make_pending(const LuaCall& call, const LuaFrame& function) noexcept {
    has_pending_ = true;
    is_tail_called_ = (call.status & kLuaIsTailCalled) != 0;
    is_own_loop_ = begins_loop(call);
    pending_ = {.code = function.code,
                .fingerprint = function.fingerprint,
                .position = function.position,
                .kind = TokenKind::kLua};
    if (function.code == 0) {
      pending_.flags = kTokenBuiltIn;
      pending_.code = c_function_of(call);
      return;
    }
    if (!is_own_loop_) return;
    pending_.flags = kTokenEndsLoop;
    pending_.mark = groups_++;
  }

  bool read_function_value(const LuaCall& call, LuaValue& out) noexcept {
    const bool is_distance =
        call.function < values_.end - values_.begin && !values_.contains(call.function);
    const std::uint64_t at = call.function + (is_distance ? values_.begin : 0);
    return may_be_object(at) && read(at, out);
  }

  std::uint64_t c_function_of(const LuaCall& call) noexcept {
    LuaValue value{};
    std::uint64_t function = 0;
    if (!read_function_value(call, value)) return 0;
    if (value.type() == kLuaLightFunction) return value.contents;
    const bool is_closure = value.type() == (kLuaCFunction | kLuaIsObject) &&
                            may_be_object(value.contents) &&
                            read(value.contents + kLuaFunctionAt, function);
    return is_closure ? function : 0;
  }

  bool read_function(const LuaCall& call, LuaFrame& out) noexcept {
    LuaValue value{};
    LuaCode code{};
    std::uint64_t address = 0;
    if (!read_function_value(call, value) || value.type() != (kLuaFunction | kLuaIsObject) ||
        !may_be_object(value.contents) || !read(value.contents + kLuaFunctionAt, address) ||
        !may_be_object(address) || !read(address, code) || code.type != kLuaCodeType ||
        code.instruction_count <= 0) {
      return false;
    }
    out = {.code = address,
           .begin = code.instructions,
           .end = code.instructions +
                  static_cast<std::uint64_t>(code.instruction_count) * kInstructionBytes,
           .fingerprint = fingerprint_of(code)};
    out.set_next(call.instruction);
    return true;
  }

  // The loop saves the next instruction only before what may call or fail; it has it in a register.
  void take_registers(LuaFrame& function) const noexcept {
    std::uint64_t next = 0;
    if (stack_.interrupted == nullptr) return;
    for (const std::uint64_t value : stack_.interrupted->values) {
      if (!function.is_instruction(value) || value == next) continue;
      if (next != 0) return;  // another one
      next = value;
    }
    function.set_next(next);
  }

  const LuaRuntime& lua_;
  unwind::ImageReader reader_;
  const LuaStack& stack_;
  std::uint32_t count_;
  LuaProtection& protection_;
  std::uint64_t known_;
  TokenBuffer& tokens_;

  // Of the thread that was read last:
  LuaThreadHead head_{};
  std::uint64_t jump_ = 0;  // its innermost protected call

  std::uint32_t left_ = kMaxLuaCalls;
  bool has_passed_ = false;  // a gap
  // Of the native frames since the last thread's:
  std::uint64_t thread_ = 0;  // of the protected calls among them
  std::uint32_t loops_ = 0;
  std::uint32_t next_ = 0;  // the first loop
  // Of the calls of a thread:
  Range<std::uint64_t> values_{};
  std::uint32_t groups_ = 0;
  std::uint32_t inner_groups_ = 0;  // before the gap
  bool has_gap_ = false;
  bool is_entering_ = false;
  Token pending_{};
  bool has_pending_ = false;
  bool is_tail_called_ = false;
  bool is_own_loop_ = false;
};

}  // namespace

std::uint32_t fingerprint_of(const LuaCode& code) noexcept {
  const auto both = [](std::int32_t high, std::int32_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  };
  std::uint64_t hash = mix_hash(code.instructions, code.lines);
  for (const std::uint64_t part : {code.source, both(code.first_line, code.instruction_count),
                                   both(code.last_line, code.constant_count)}) {
    hash = mix_hash(hash, part);
  }
  return static_cast<std::uint32_t>(hash >> 32);
}

void walk_lua(const LuaRuntime& lua, unwind::ImageReader reader, const LuaStack& stack,
              LuaProtection& protection, TokenBuffer& tokens) noexcept {
  LuaWalk(lua, reader, stack, protection, tokens).run();
}

}  // namespace swipr::runtimes
