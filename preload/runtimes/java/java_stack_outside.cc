#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/java/java_walk_code.h"
#include "preload/unwind/walk/function_reader.h"
#include "preload/unwind/walk/loop/walk_loop.h"

namespace swipr::runtimes {

unwind::WalkEnd walk_on_with_java(const JavaRuntime& java, const unwind::CodeMap& map,
                                  const unwind::Registers& registers, bool exact,
                                  unwind::StackReader stack, ObjectPieces& reader,
                                  unwind::FrameBuffer& frames, TokenBuffer& tokens,
                                  LuaJitWalk* luajit) noexcept {
  using Code = JavaWalkCode<ObjectPieces, unwind::FunctionReader>;
  tokens.remove_from(registers.values[unwind::kStackRegister]);
  unwind::FunctionReader words(stack);
  return unwind::WalkLoop<unwind::FunctionReader, Code>(map, words, frames,
                                                        Code(java, reader, words, tokens, luajit))
      .run(registers, exact);
}

}  // namespace swipr::runtimes
