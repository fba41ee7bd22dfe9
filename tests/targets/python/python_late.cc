// python_late LIBPYTHON SCRIPT: a line on stdin, then loads CPython and runs the script in it.
#include <dlfcn.h>

#include <string>

#include "tests/targets/target.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  target::say("waiting");
  char line[16];
  if (!target::read_line(line, sizeof line)) return 0;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "python_late: %s\n", dlerror());
    return 1;
  }
  const auto initialize = reinterpret_cast<void (*)(int)>(dlsym(library, "Py_InitializeEx"));
  const auto run =
      reinterpret_cast<int (*)(const char*, void*)>(dlsym(library, "PyRun_SimpleStringFlags"));
  const auto finalize = reinterpret_cast<int (*)()>(dlsym(library, "Py_FinalizeEx"));
  initialize(0);
  const std::string path = argv[2];
  const std::string code =
      "path = '" + path + "'\nexec(compile(open(path).read(), path, 'exec'))\n";
  const int failed = run(code.c_str(), nullptr);
  return finalize() != 0 || failed != 0 ? 1 : 0;
}
