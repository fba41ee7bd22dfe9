#include "preload/unwind/walk/walk.h"

#include "preload/unwind/walk/function_reader.h"
#include "preload/unwind/walk/loop/walk_loop.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::unwind {

WalkEnd walk(const CodeMap& map, const Registers& registers, StackReader reader,
             FrameBuffer& frames) noexcept {
  FunctionReader function_reader(reader);
  return WalkLoop<FunctionReader>(map, function_reader, frames).run(registers);
}

WalkEnd walk_on(const CodeMap& map, const Registers& stopped, bool exact, StackReader reader,
                FrameBuffer& frames) noexcept {
  FunctionReader function_reader(reader);
  return WalkLoop<FunctionReader>(map, function_reader, frames).run(stopped, exact);
}

WalkEnd walk(const CodeMap& map, const Registers& registers, PageProbeReader& reader,
             FrameBuffer& frames, Registers* stopped) noexcept {
  WalkLoop<PageProbeReader> loop(map, reader, frames);
  const WalkEnd end = loop.run(registers);
  if (end == WalkEnd::kUnbuilt && stopped != nullptr) *stopped = loop.registers();
  return end;
}

}  // namespace swipr::unwind
