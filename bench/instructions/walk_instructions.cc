// Walks a stack of 30 functions and what is around them, as the handler does, and prints the number
// of frames. Its argument says how often. bench/instructions/count.py counts its instructions.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "preload/handler/signals/context.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "preload/unwind/walk/walk.h"
#include "tests/unit/preload/unwind/chain.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::unwind {
namespace {

long walks = 0;
const CodeMap* code_map = nullptr;
FrameBuffer frames;

void walk_often(int /*number*/, siginfo_t* /*info*/, void* context) {
  const auto& interrupted = *static_cast<const ucontext_t*>(context);
  for (long walk_number = 0; walk_number < walks; ++walk_number) {
    Registers registers;
    handler::take_registers(interrupted, registers);
    PageProbeReader reader(handler::last_written_byte(interrupted));
    walk(*code_map, registers, reader, frames, nullptr);
  }
}

void run() {
  SelfMap map;
  const CodeMap cached = map.cached_code_map();
  code_map = &cached;
  struct sigaction action {};
  action.sa_sigaction = &walk_often;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGUSR1, &action, nullptr);
  call_through_chain([](void*) { ::raise(SIGUSR1); }, nullptr);
  std::printf("%u\n", frames.frame_count);
}

}  // namespace
}  // namespace swipr::unwind

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  swipr::unwind::walks = std::atol(argv[1]);
  std::thread(&swipr::unwind::run).join();
}
