#include "preload/runtimes/java/java_stack.h"

#include "preload/runtimes/java/java_walk_code.h"
#include "preload/unwind/walk/loop/walk_loop.h"

namespace swipr::runtimes {

namespace {

// Everything but the stack.
class JavaHandlerObjects {
 public:
  JavaHandlerObjects(const JavaRuntime& java, PageCache& pages) noexcept
      : java_(java), probed_(pages) {}

  // Inlined in each of its callers it takes 4 KiB more.
  template <typename T>
  SWIPR_SIGNAL_SAFE [[gnu::noinline]] bool read_value(std::uint64_t address, T& out) noexcept {
    if (is_committed(address, sizeof out)) {
      out = ProbedObjects::read_unasked<T>(address);
      return true;
    }
    return probed_.read_value(address, out);
  }
  SWIPR_SIGNAL_SAFE bool read(std::uint64_t address, std::span<std::byte> out) noexcept {
    return probed_.read(address, out);
  }

 private:
  // The virtual machine never unmaps what it has committed of the code cache and of its map.
  // Source: src/hotspot/share/memory/heap.cpp: a CodeHeap only expands.
  bool is_committed(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const JavaCodeHeap& heap : java_.heaps) {
      const std::uint64_t size = heap.memory.end - heap.memory.begin;
      const std::uint64_t at = address - heap.memory.begin;
      if (at < size) return size - at >= bytes;
      const std::uint64_t segment = address - heap.segment_map;
      const std::uint64_t segments = size >> java_.segment_shift;
      if (segment < segments) return segments - segment >= bytes;
    }
    return false;
  }

  const JavaRuntime& java_;
  ProbedObjects probed_;
};

}  // namespace

unwind::WalkEnd walk_with_java(const JavaRuntime& java, const unwind::CodeMap& map,
                               const unwind::Registers& registers, unwind::PageProbeReader& stack,
                               PageCache& pages, unwind::FrameBuffer& frames, TokenBuffer& tokens,
                               unwind::Registers* stopped, LuaJitWalk* luajit) noexcept {
  using Code = JavaWalkCode<JavaHandlerObjects, unwind::PageProbeReader>;
  pages.clear();
  tokens.clear();
  JavaHandlerObjects objects(java, pages);
  unwind::WalkLoop<unwind::PageProbeReader, Code> loop(map, stack, frames,
                                                       Code(java, objects, stack, tokens, luajit));
  const unwind::WalkEnd end = loop.run(registers);
  if (end == unwind::WalkEnd::kUnbuilt && stopped != nullptr) *stopped = loop.registers();
  tokens.finish(end == unwind::WalkEnd::kRoot);
  return end;
}

}  // namespace swipr::runtimes
