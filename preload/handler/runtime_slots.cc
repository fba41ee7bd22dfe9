#include "preload/handler/runtime_slots.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/v8/v8_frames.h"

namespace swipr::handler {

constinit RuntimeShared runtime_shared;

RuntimeSlot* runtime_slot_of(const Slot& slot) noexcept {
  RuntimeSlot* const slots = runtime_shared.slots.load(std::memory_order_acquire);
  if (slots == nullptr) [[likely]]
    return nullptr;
  const std::uint32_t number = slot_number(slot);
  return number == kNoSlotNumber ? nullptr : slots + number;
}

namespace {

runtimes::PythonThreadStates known_states(const Slot& slot, const RuntimeSlot& out) noexcept {
  if (slot_number(slot) < kSlotCount) return out.states;
  const std::uint32_t place = place_of_timer(slot.timer_value) % kTimedThreadCount;
  return {{runtime_shared.timed_states[place].load(std::memory_order_relaxed)}};
}

void take_python(const Slot& slot, const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  const runtimes::PythonRuntime& python = snapshot.python;
  const runtimes::ThreadIdentity thread{
      .tid = static_cast<std::uint64_t>(::syscall(SYS_gettid)),
      .pthread =
          reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()) + snapshot.pthread_offset,
      .tid_in_pthread = snapshot.tid_in_pthread};
  runtimes::ProbedObjects memory(out.pages);
  const runtimes::PythonThreadStates states =
      runtimes::keep_python_states(python, memory, thread, known_states(slot, out));
  out.states = states;
  if (states.first() != 0) runtimes::walk_python(python, memory, states, out.tokens);
}

void take_ruby(const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  runtimes::ProbedObjects memory(out.pages);
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  const std::uint64_t context = runtimes::find_ruby_context(snapshot.ruby, memory, pointer);
  if (context != 0) runtimes::walk_ruby(snapshot.ruby, memory, context, out.tokens);
}

void take_php(const Slot& slot, const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  if (::syscall(SYS_gettid) != ::syscall(SYS_getpid)) return;
  const auto& registers = slot.registers.values;
  runtimes::ProbedObjects memory(out.pages);
  runtimes::walk_php(snapshot.php, memory,
                     {.frame = registers[runtimes::kPhpFrameRegister],
                      .instruction = registers[runtimes::kPhpInstructionRegister]},
                     out.tokens);
}

void take_perl(const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  runtimes::ProbedObjects memory(out.pages);
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  const std::uint64_t interpreter = runtimes::find_perl_interpreter(snapshot.perl, memory, pointer);
  if (interpreter != 0) runtimes::walk_perl(snapshot.perl, memory, interpreter, out.tokens);
}

void take_r(const Slot& slot, const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  if (::syscall(SYS_gettid) != ::syscall(SYS_getpid)) return;
  runtimes::ProbedObjects memory(out.pages);
  runtimes::walk_r(snapshot.r, memory, slot.frames.stacks[0], out.tokens);
}

bool read_probed(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  return static_cast<runtimes::ProbedObjects*>(state)->read(address, out);
}

void take_lua(const Slot& slot, const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  runtimes::ProbedObjects memory(out.pages);
  const std::uint32_t frames = slot.frames.frame_count;
  runtimes::walk_lua(snapshot.lua, {&read_probed, &memory},
                     {.pcs = std::span(slot.frames.pcs).first(frames),
                      .stacks = std::span(slot.frames.stacks).first(frames),
                      .interrupted = &slot.registers},
                     runtime_shared.lua_protection, out.tokens);
}

void take_javascript(const Slot& slot, const RuntimeSnapshot& snapshot, RuntimeSlot& out) noexcept {
  const auto& registers = slot.registers.values;
  runtimes::ProbedObjects memory(out.pages);
  runtimes::read_v8_tokens(snapshot.v8, memory, slot.frames,
                           {.bytecode = registers[runtimes::kV8BytecodeRegister],
                            .position = registers[runtimes::kV8PositionRegister]},
                           out.tokens);
}

}  // namespace

RuntimeOfSlot begin_runtime(const Slot& slot) noexcept {
  RuntimeSlot* const out = runtime_slot_of(slot);
  if (out == nullptr) [[likely]]
    return {};
  out->tokens.clear();
  return {runtime_shared.snapshot.load(std::memory_order_seq_cst), out};
}

unwind::WalkEnd walk_stack(Slot& slot, const unwind::CodeMap& map, unwind::PageProbeReader& memory,
                           const RuntimeOfSlot& runtime) noexcept {
  if (runtime.snapshot == nullptr || !runtime.snapshot->has_native_code()) [[likely]]
    return unwind::walk(map, slot.registers, memory, slot.frames, &slot.stopped);
  runtimes::LuaJitWalk luajit(runtime.snapshot->lua, map, &runtime.slot->tokens,
                              slot.registers.values[unwind::kStackRegister]);
  return runtimes::walk_with_java(runtime.snapshot->java, map, slot.registers, memory,
                                  runtime.slot->pages, slot.frames, runtime.slot->tokens,
                                  &slot.stopped, runtime.snapshot->lua.is_jit ? &luajit : nullptr);
}

void take_tokens(const Slot& slot, const RuntimeOfSlot& runtime) noexcept {
  if (runtime.snapshot == nullptr || runtime.snapshot->has_native_code()) return;
  runtime.slot->pages.clear();
  switch (runtime.snapshot->language) {
    case Language::kPython:
      return take_python(slot, *runtime.snapshot, *runtime.slot);
    case Language::kRuby:
      return take_ruby(*runtime.snapshot, *runtime.slot);
    case Language::kPhp:
      return take_php(slot, *runtime.snapshot, *runtime.slot);
    case Language::kPerl:
      return take_perl(*runtime.snapshot, *runtime.slot);
    case Language::kR:
      return take_r(slot, *runtime.snapshot, *runtime.slot);
    case Language::kLua:
      return take_lua(slot, *runtime.snapshot, *runtime.slot);
    default:
      return take_javascript(slot, *runtime.snapshot, *runtime.slot);
  }
}

}  // namespace swipr::handler
