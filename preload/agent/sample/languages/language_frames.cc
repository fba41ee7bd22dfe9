#include "preload/agent/sample/languages/language_frames.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/proc/thread_pointer.h"
#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/runtimes/ruby/ruby_waits.h"
#include "preload/runtimes/v8/v8_frames.h"

namespace swipr::agent {

namespace {

constexpr std::uint64_t kMaxTid = 1 << 22;  // include/linux/threads.h, PID_MAX_LIMIT

// Threads wait for the GIL on a condition variable, whose futex is part of the GIL's structure.
RuntimeWaitKey find_gil_wait(const handler::RuntimeSnapshot& snapshot,
                             runtimes::ObjectPieces& reader, std::uint64_t state,
                             std::uint64_t futex) noexcept {
  runtimes::PythonGil gil;
  if (!runtimes::read_python_gil(snapshot.python, reader, state, gil)) return {};
  if (!gil.memory.contains(futex)) return {};
  const std::uint64_t holder =
      gil.is_locked && gil.holder != 0
          ? runtimes::read_python_tid(snapshot.python, reader, gil.holder, snapshot.tid_in_pthread)
          : 0;
  return {RuntimeWait::kGil, holder <= kMaxTid ? static_cast<std::uint32_t>(holder) : 0};
}

RuntimeWaitFound find_ruby_lock(const handler::RuntimeSnapshot& snapshot,
                                runtimes::ObjectPieces& reader, std::uint64_t context,
                                std::uint64_t& known_owner) noexcept {
  const runtimes::RubyWait wait =
      runtimes::read_ruby_wait(snapshot.ruby.layout, reader, context, known_owner);
  std::uint32_t holder = 0;
  if (!wait.waits) return {};
  const bool has_holder = wait.holder != 0 && snapshot.tid_in_pthread != 0 &&
                          reader.read_value(wait.holder + snapshot.tid_in_pthread, holder);
  return {.key = {RuntimeWait::kGil, has_holder && holder <= kMaxTid ? holder : 0},
          .note = {wait.owner_address, wait.owner}};
}

constexpr std::uint8_t exact_kind(Execution execution) noexcept {
  return static_cast<std::uint8_t>(unwind::kExactFrame | static_cast<unsigned>(execution));
}

std::uint8_t kind_of(const runtimes::Token& token) noexcept {
  const bool is_compiled = (token.flags & runtimes::kTokenCompiled) != 0;
  const bool is_built_in = (token.flags & runtimes::kTokenBuiltIn) != 0;
  const Execution execution = is_built_in   ? Execution::kBuiltIn
                              : is_compiled ? Execution::kCompiled
                                            : Execution::kInterpreted;
  return static_cast<std::uint8_t>(unwind::kExactFrame | static_cast<unsigned>(execution));
}

// An address in the code of the frame that was left by that frame pointer, as its caller's stack
// pointer shows. 0: there is none. `at`: where to begin, because frame pointers ascend; updated.
std::uint64_t pc_of_frame(const unwind::FrameBuffer& frames, std::uint64_t frame_pointer,
                          std::uint32_t& at) noexcept {
  constexpr std::uint64_t kSaved = 16;  // the caller's frame pointer and the return address
  for (; at + 1 < frames.frame_count; ++at) {
    if (frames.stacks[at + 1] != frame_pointer + kSaved) continue;
    return frames.pcs[at] - ((frames.kinds[at] & unwind::kExactFrame) != 0 ? 0 : 1);
  }
  return 0;
}

runtimes::ThreadIdentity identity_of(const Thread& thread,
                                     const handler::RuntimeSnapshot& snapshot) noexcept {
  return {.tid = static_cast<std::uint64_t>(thread.tid.value),
          .tid_in_pthread = snapshot.tid_in_pthread,
          .is_first = thread.tid.value == ::getpid()};
}

runtimes::PythonThreadStates find_states(const handler::RuntimeSnapshot& snapshot,
                                         runtimes::ObjectPieces& reader,
                                         const Thread& thread) noexcept {
  return runtimes::find_python_states(snapshot.python, reader, identity_of(thread, snapshot),
                                      runtimes::PythonThreadStates::kMost);
}

// Of a blocked thread.
std::uint64_t find_ruby_context(const runtimes::RubyRuntime& ruby, runtimes::ObjectPieces& reader,
                                std::uint64_t thread_pointer) noexcept {
  if (thread_pointer == 0) return 0;
  return ruby.machine != 0 ? runtimes::find_listed_ruby_context(ruby, reader, thread_pointer)
                           : runtimes::find_ruby_context(ruby, reader, thread_pointer);
}

Range<std::uint64_t> loop_of(const handler::RuntimeSnapshot& snapshot) noexcept {
  switch (snapshot.language) {
    case Language::kRuby:
      return snapshot.ruby.loop;
    case Language::kPhp:
      return snapshot.php.loop;
    case Language::kPerl:
      return snapshot.perl.loop;
    case Language::kR:
      return {};  // its tokens have marks
    case Language::kLua:
      return snapshot.lua.loop;
    default:
      return snapshot.python.loop;
  }
}

}  // namespace

void LanguageFrames::set_states(std::uint32_t place, Thread& thread,
                                const runtimes::PythonThreadStates& states) noexcept {
  thread.runtime.states_ = states;
  if (states.first() != 0) thread.runtime.fruitless_searches_ = 0;
  handler::set_timed_state(place, states.first());
}

// A search costs a few reads for each thread of the interpreter, and threads of native libraries
// never have a state: it is repeated ever more rarely.
void LanguageFrames::prepare(const RuntimeRegistry& runtimes, ProcMemory& memory,
                             std::uint32_t place, Thread& thread) noexcept {
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  if (snapshot == nullptr || snapshot->language != Language::kPython || !memory.is_open() ||
      thread.runtime.states().first() != 0) {
    return;
  }
  constexpr std::uint8_t kMostDoublings = 3;
  ThreadRuntime& known = thread.runtime;
  if (known.searches_to_skip_ != 0) {
    --known.searches_to_skip_;
    return;
  }
  runtimes::ObjectPieces reader(memory.image_reader());
  set_states(place, thread, find_states(*snapshot, reader, thread));
  if (known.states().first() != 0) return;
  known.searches_to_skip_ = static_cast<std::uint8_t>(1u << known.fruitless_searches_);
  if (known.fruitless_searches_ < kMostDoublings) ++known.fruitless_searches_;
}

bool LanguageFrames::has_memory() noexcept {
  if (own_ == nullptr) own_ = static_cast<Memory*>(map_memory(round_to_pages(sizeof(Memory))));
  return own_ != nullptr;
}

void LanguageFrames::release() noexcept {
  if (own_ != nullptr) unmap_memory(own_, round_to_pages(sizeof(Memory)));
  own_ = nullptr;
  functions_.release();
}

void LanguageFrames::splice_answer(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                   std::uint32_t place, Thread& thread, const handler::Slot& slot,
                                   unwind::FrameBuffer& frames) noexcept {
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  const handler::RuntimeSlot* const found = handler::runtime_slot_of(slot);
  if (snapshot == nullptr || found == nullptr || !has_memory()) return;
  if (snapshot->language == Language::kJava) {
    return name_java(*snapshot, found->tokens.tokens(), memory, frames);
  }
  if (snapshot->language != Language::kPython) {
    return splice(*snapshot, found->tokens, memory, frames);
  }
  set_states(place, thread, found->states);
  prepare(runtimes, memory, place, thread);  // for the next answer
  splice(*snapshot, found->tokens, memory, frames);
  // It may have entered an interpreter that the handler does not know.
  if (own_->spliced.loops_left == 0) return;
  runtimes::ObjectPieces reader(memory.image_reader());
  if (!runtimes::has_several_interpreters(snapshot->python, reader)) return;
  set_states(place, thread, find_states(*snapshot, reader, thread));
}

RuntimeWaitFound LanguageFrames::read_blocked(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                              std::uint32_t place, Thread& thread,
                                              const WaitPlace& wait,
                                              const unwind::FrameBuffer& frames) noexcept {
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  if (snapshot == nullptr || !has_memory()) return {};
  runtimes::ObjectPieces reader(memory.image_reader());
  if (snapshot->language == Language::kJava) {
    const bool may_wait = wait.system_call == SYS_futex && own_->tokens.added() != 0;
    return may_wait ? find_java_wait(*snapshot, reader, thread) : RuntimeWaitFound{};
  }
  if (snapshot->lua.is_jit) return {};
  own_->tokens.clear();
  if (snapshot->language == Language::kJavaScript) {
    runtimes::read_v8_tokens(snapshot->v8, reader, frames, {}, own_->tokens);
    return {};
  }
  if (snapshot->language == Language::kRuby) {
    const std::uint64_t context =
        find_ruby_context(snapshot->ruby, reader, find_thread_pointer(thread.tid, memory));
    if (context == 0) return {};
    runtimes::walk_ruby(snapshot->ruby, reader, context, own_->tokens);
    if (wait.system_call != SYS_futex) return {};
    return find_ruby_lock(*snapshot, reader, context, own_->ruby_owner);
  }
  if (snapshot->language == Language::kPhp) {
    if (thread.tid.value == ::getpid()) {
      runtimes::walk_php(snapshot->php, reader, {}, own_->tokens);
    }
    return {};
  }
  if (snapshot->language == Language::kR) {
    if (thread.tid.value == ::getpid()) {
      runtimes::walk_r(snapshot->r, reader, frames.stacks[0], own_->tokens);
    }
    return {};
  }
  if (snapshot->language == Language::kLua) {
    const std::uint32_t count = frames.frame_count;
    runtimes::walk_lua(snapshot->lua, reader.image_reader(),
                       {.pcs = std::span(frames.pcs).first(count),
                        .stacks = std::span(frames.stacks).first(count)},
                       handler::runtime_shared.lua_protection, own_->tokens);
    return {};
  }
  if (snapshot->language == Language::kPerl) {
    const std::uint64_t pointer = find_thread_pointer(thread.tid, memory);
    const std::uint64_t interpreter =
        pointer == 0 ? 0 : runtimes::find_perl_interpreter(snapshot->perl, reader, pointer);
    if (interpreter != 0) {
      runtimes::walk_perl(snapshot->perl, reader, interpreter, own_->tokens);
    }
    return {};
  }
  const runtimes::PythonRuntime& python = snapshot->python;
  runtimes::PythonThreadStates states = runtimes::keep_python_states(
      python, reader, identity_of(thread, *snapshot), thread.runtime.states());
  if (states.first() == 0 || runtimes::has_several_interpreters(python, reader)) {
    states = find_states(*snapshot, reader, thread);
  }
  set_states(place, thread, states);
  const std::uint64_t state = states.first();
  if (state == 0) return {};
  runtimes::walk_python(python, reader, states, own_->tokens);
  if (wait.system_call != SYS_futex) return {};
  return {.key = find_gil_wait(*snapshot, reader, state, wait.first_argument)};
}

void LanguageFrames::splice_blocked(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                    unwind::FrameBuffer& frames) noexcept {
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  if (snapshot == nullptr || own_ == nullptr) return;
  if (snapshot->language == Language::kJava) return name_java(*snapshot, {}, memory, frames);
  splice(*snapshot, own_->tokens, memory, frames);
}

bool LanguageFrames::has_nameless(const unwind::FrameBuffer& frames) const noexcept {
  if (!functions_.has_left_out()) return false;
  const auto pcs = std::span(frames.pcs).first(frames.frame_count);
  return std::any_of(pcs.begin(), pcs.end(), [](std::uint64_t pc) {
    return is_runtime_frame(pc) && runtime_frame_of(pc).function == 0;
  });
}

void LanguageFrames::splice(const handler::RuntimeSnapshot& snapshot,
                            const runtimes::TokenBuffer& tokens, ProcMemory& memory,
                            unwind::FrameBuffer& frames) noexcept {
  if (tokens.added() == 0 || !memory.is_open()) return;
  const bool is_cut = (frames.flags & wire::kStackCut) != 0;
  const runtimes::NativeStack native{
      .pcs = std::span(frames.pcs).first(frames.frame_count),
      .stacks = std::span(frames.stacks).first(frames.frame_count),
      .is_root_reached = (frames.flags & wire::kStackRootReached) != 0,
      .omitted_at = is_cut ? frames.omitted_at : 0};
  runtimes::splice(native, {tokens.tokens(), tokens.omitted(), tokens.is_root_reached()},
                   loop_of(snapshot), own_->spliced);
  // The outermost function of a fiber returns to 0, which alone proves no root; but its stack has
  // all frames of the fiber's first function.
  if (snapshot.language == Language::kRuby && own_->spliced.is_paired) {
    frames.flags = (frames.flags & ~std::uint64_t{wire::kStackBroken}) | wire::kStackRootReached;
  }
  const Moment now = monotonic_now();
  const auto all = own_->spliced.view();
  std::uint32_t count = 0;
  std::uint32_t native_at = 0;
  std::uint32_t omitted_at = own_->spliced.omitted_at;
  const auto put = [&](std::uint64_t pc, std::uint8_t kind) {
    if (count == wire::kMaxFrames) return;
    own_->pcs[count] = pc;
    own_->kinds[count++] = kind;
  };
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::uint32_t index = all[at].index;
    if (at == own_->spliced.omitted_at) omitted_at = count;
    if (!all[at].is_token) {
      put(frames.pcs[index], frames.kinds[index]);
      continue;
    }
    const runtimes::Token& token = tokens.tokens()[index];
    std::span<const std::uint64_t> inlined;
    if (token.kind == runtimes::TokenKind::kJavaScript) {
      const std::uint64_t pc = pc_of_frame(frames, token.mark, native_at);
      inlined = own_->v8.expand(token, pc, snapshot, memory, own_->names, functions_, now);
    }
    if (inlined.empty()) {
      put(own_->names.pc_of(token, snapshot, memory, functions_, now), kind_of(token));
      continue;
    }
    for (; inlined.size() > 1; inlined = inlined.subspan(1)) {
      put(inlined.front(), exact_kind(Execution::kInlined));
    }
    put(inlined.front(), exact_kind(Execution::kCompiled));
  }
  std::copy_n(own_->pcs.begin(), count, frames.pcs.begin());
  std::copy_n(own_->kinds.begin(), count, frames.kinds.begin());
  frames.frame_count = count;
  if (omitted_at == 0) return;
  frames.flags |= wire::kStackCut;
  frames.omitted_at = omitted_at;
}

}  // namespace swipr::agent
