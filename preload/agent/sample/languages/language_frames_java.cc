// Walks through Java's frames, and their names.
#include "common/core/runtime_frame.h"
#include "preload/agent/sample/languages/language_frames.h"
#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/java/java_thread_walk.h"
#include "preload/runtimes/java/java_waits.h"
#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/runtimes/object_reader.h"

namespace swipr::agent {

namespace {

bool ends_in(const runtimes::JavaRuntime& java, const unwind::FrameBuffer& frames) noexcept {
  return frames.frame_count != 0 && frames.frame_count < wire::kMaxFrames &&
         java.code.contains(frames.pcs[frames.frame_count - 1]);
}

}  // namespace

void LanguageFrames::begin_stack(Thread* blocked) noexcept {
  blocked_ = blocked;
  if (own_ != nullptr) own_->tokens.clear();
}

unwind::WalkEnd LanguageFrames::walk_on(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                        const unwind::CodeMap& map,
                                        const unwind::Registers& registers, bool exact,
                                        unwind::StackReader stack,
                                        unwind::FrameBuffer& frames) noexcept {
  const handler::RuntimeSnapshot* const snapshot = runtimes.current();
  if (snapshot == nullptr || !snapshot->has_native_code() || !has_memory()) {
    return unwind::walk_on(map, registers, exact, stack, frames);
  }
  runtimes::ObjectPieces reader(memory.image_reader());
  if (snapshot->lua.is_jit) {
    own_->tokens.clear();
    // A thread that runs on has other calls by now.
    runtimes::LuaJitWalk luajit(snapshot->lua, map, blocked_ != nullptr ? &own_->tokens : nullptr);
    const unwind::WalkEnd end = runtimes::walk_on_with_java(
        snapshot->java, map, registers, exact, stack, reader, frames, own_->tokens, &luajit);
    own_->tokens.finish(end == unwind::WalkEnd::kRoot);
    return end;
  }
  const auto walk = [&](const unwind::Registers& from) {
    return runtimes::walk_on_with_java(snapshot->java, map, from, exact, stack, reader, frames,
                                       own_->tokens);
  };
  const unwind::WalkEnd end = walk(registers);
  const bool may_know = end == unwind::WalkEnd::kUnknownRegister && blocked_ != nullptr &&
                        !registers.knows(unwind::kFrameRegister) && ends_in(snapshot->java, frames);
  if (!may_know) return end;
  // No frame has changed it since Java was left, and the virtual machine has kept it.
  runtimes::JavaRegisters left;
  if (!find_anchor(*snapshot, reader, *blocked_, left) || left.frame == 0) return end;
  unwind::Registers known = registers;
  known.values[unwind::kFrameRegister] = left.frame;
  known.known |= unwind::bit_of(unwind::kFrameRegister);
  return walk(known);
}

std::uint64_t LanguageFrames::find_java_thread(const handler::RuntimeSnapshot& snapshot,
                                               runtimes::ObjectPieces& reader,
                                               Thread& thread) noexcept {
  const auto tid = static_cast<std::uint32_t>(thread.tid.value);
  std::uint64_t& known = thread.runtime.java_thread_;
  if (!runtimes::is_java_thread(snapshot.java, reader, known, tid)) {
    known = runtimes::find_java_thread(snapshot.java, reader, tid);
  }
  return known;
}

bool LanguageFrames::find_anchor(const handler::RuntimeSnapshot& snapshot,
                                 runtimes::ObjectPieces& reader, Thread& thread,
                                 runtimes::JavaRegisters& out) noexcept {
  const std::uint64_t own = find_java_thread(snapshot, reader, thread);
  return own != 0 &&
         runtimes::read_java_anchor(snapshot.java, reader, own + snapshot.java.layout.thread_anchor,
                                    out) &&
         out.stack != 0;
}

RuntimeWaitFound LanguageFrames::find_java_wait(const handler::RuntimeSnapshot& snapshot,
                                                runtimes::ObjectPieces& reader,
                                                Thread& thread) noexcept {
  const std::uint64_t own = find_java_thread(snapshot, reader, thread);
  if (own == 0) return {};
  const runtimes::JavaWait wait =
      runtimes::read_java_wait(snapshot.java, reader, own, own_->monitor_holder, own_->wait_type);
  const std::string_view type = own_->wait_type.view();
  const std::uint32_t number =
      type.empty() ? 0 : functions_.intern({.language = Language::kJava, .name = type});
  return {.key = {.kind = wait.kind, .holder_tid = wait.holder_tid, .type = number},
          .note = {wait.owner_address, wait.owner}};
}

void LanguageFrames::name_java(const handler::RuntimeSnapshot& snapshot,
                               std::span<const runtimes::Token> of_handler, ProcMemory& memory,
                               unwind::FrameBuffer& frames) noexcept {
  if (!memory.is_open()) return;
  own_->tokens.finish(true);
  std::uint64_t unloaded = 0;
  if (snapshot.java.unloaded_classes != 0 &&
      memory.image_reader().read_value(snapshot.java.unloaded_classes, unloaded)) {
    own_->names.set_unloaded_classes(unloaded);
  }
  NameSources sources{.snapshot = snapshot,
                      .memory = memory,
                      .names = own_->names,
                      .functions = functions_,
                      .now = monotonic_now()};
  is_outdated_ |= own_->java.name_frames(sources, of_handler, own_->tokens.tokens(), frames);
}

}  // namespace swipr::agent
