// Walks that meet code whose table is not built yet.
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "preload/agent/sample/sampler.h"
#include "preload/agent/threads/own_waiters.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

using unwind::WalkEnd;
using wire::RecordMode;

// Builds what the walk meets: each round has one table more.
WalkEnd Sampler::walk_and_build(const unwind::Registers& registers, bool exact,
                                unwind::StackReader stack) noexcept {
  for (;;) {
    const WalkEnd end =
        unwind::walk_on(*subjects_.modules.code_map(), registers, exact, stack, frames_);
    if (end != WalkEnd::kUnbuilt ||
        !subjects_.modules.build_table_at(unwind::outermost_lookup_address(frames_),
                                          subjects_.memory)) {
      return end;
    }
  }
}

void Sampler::build_tables_for(const Recording& recording, std::uint32_t place) noexcept {
  if (!subjects_.memory.is_open() || subjects_.modules.code_map() == nullptr) return;
  const Thread& thread = subjects_.threads[place];
  // It waits for the recording to begin: many a process ends before its first tick.
  if (thread.tid.value == own_waiters::starting_tid.load(std::memory_order_relaxed) ||
      own_waiters::contains(thread.tid)) {
    return;
  }
  const WaitPlace wait = read_wait_place(thread.tid);
  if (wait.kind == WaitKind::kBlocked) {
    // What the walk gives does not matter, so the thread may well wake meanwhile.
    if (recording.mode() != RecordMode::kCpu) walk_from_outside(wait, thread.kept);
  } else if (recording.mode() != RecordMode::kOffCpu) {
    // It runs, nobody knows where: nearly always in the program, in libc, or called from there.
    subjects_.modules.build_table_at(::getauxval(AT_ENTRY), subjects_.memory);
    subjects_.modules.build_table_at(reinterpret_cast<std::uint64_t>(&::getpid), subjects_.memory);
  }
}

namespace {

// The stack as it was when the signal came. What it does not have cannot be read.
class CopiedStack {
 public:
  CopiedStack(const handler::Slot& slot, const unwind::CodeMap& map,
              const ProcMemory& memory) noexcept
      : bytes_(std::as_bytes(slot.copied_stack())),
        begin_(slot.copied_from),
        map_(map),
        memory_(memory) {}

  unwind::StackReader reader() noexcept {
    return {[](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
              return static_cast<const CopiedStack*>(state)->read_word(address, out);
            },
            this};
  }

 private:
  bool read_word(std::uint64_t address, std::uint64_t& out) const noexcept {
    const std::uint64_t at = address - begin_;
    if (at < bytes_.size() && bytes_.size() - at >= sizeof out) {
      std::memcpy(&out, bytes_.data() + at, sizeof out);
      return true;
    }
    // Code is what it was.
    return map_.find(address) != nullptr &&
           memory_.read(address, std::as_writable_bytes(std::span(&out, 1)));
  }

  std::span<const std::byte> bytes_;
  std::uint64_t begin_;
  const unwind::CodeMap& map_;
  const ProcMemory& memory_;
};

}  // namespace

void Sampler::finish_walk(handler::Slot& slot) noexcept {
  const unwind::CodeMap* const map = subjects_.modules.code_map();
  if (slot.end != WalkEnd::kUnbuilt || !subjects_.memory.is_open() || map == nullptr) return;
  unwind::FrameBuffer& frames = slot.frames;
  const std::uint32_t last = frames.frame_count - 1;
  const bool exact = (frames.kinds[last] & unwind::kExactFrame) != 0;
  CopiedStack stack(slot, *map, subjects_.memory);
  slot.end = walk_and_build(slot.stopped, exact, stack.reader());
  // The first of these is the last of those. It may have turned out to be exact.
  const unsigned kind = frames.kinds[last] | (frames_.kinds[0] & unwind::kExactFrame);
  frames.kinds[last] = static_cast<std::uint8_t>(kind);
  const std::uint32_t room = wire::kMaxFrames - frames.frame_count;
  const std::uint32_t more = frames_.frame_count - 1;
  if (more > room) return;
  std::copy_n(frames_.pcs.begin() + 1, more, frames.pcs.begin() + frames.frame_count);
  std::copy_n(frames_.kinds.begin() + 1, more, frames.kinds.begin() + frames.frame_count);
  frames.frame_count += more;
  frames.flags = (frames.flags & wire::kStackCut) | frames_.flags;
}

}  // namespace swipr::agent
