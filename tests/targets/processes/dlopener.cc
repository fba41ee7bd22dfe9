// A line on stdin: dlopens the library of that path, says "loaded", and works in its plugin_hot.
#include <dlfcn.h>

#include <thread>

#include "tests/targets/target.h"

namespace {

std::atomic<bool> stop{false};
using Hot = std::uint64_t (*)(std::uint64_t);

}  // namespace

int main() {
  target::say("ready");
  char path[4096];
  if (!target::read_line(path, sizeof path)) return 0;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "dlopener: %s\n", dlerror());
    return 1;
  }
  const auto hot = reinterpret_cast<Hot>(dlsym(library, "plugin_hot"));
  std::thread worker([hot] {
    target::name_thread("plugin");
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) seed = hot(seed);
  });
  target::say("loaded");
  target::wait_for_stdin_end();
  stop = true;
  worker.join();
  return 0;
}
