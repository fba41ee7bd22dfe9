#include "symbolize/files/debuginfod.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace swipr::symbolize {
namespace {

struct Client;  // debuginfod_client

// Source: elfutils/debuginfod.h; a length of 0 says that the build-id is hexadecimal text.
struct Library {
  Client* (*begin)();
  void (*end)(Client*);
  int (*find_debuginfo)(Client*, const char*, int, char**);
  int (*find_executable)(Client*, const char*, int, char**);
  bool loaded;
};

template <typename Function>
bool load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

Library load_library() {
  Library result{};
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return result;
  result.loaded = load(library, "debuginfod_begin", &result.begin) &&
                  load(library, "debuginfod_end", &result.end) &&
                  load(library, "debuginfod_find_debuginfo", &result.find_debuginfo) &&
                  load(library, "debuginfod_find_executable", &result.find_executable);
  return result;
}

const Library& library() {
  static const Library loaded = load_library();
  return loaded;
}

}  // namespace

bool has_debuginfod() {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  return servers != nullptr && *servers != '\0' && library().loaded;
}

std::optional<ElfFile> find_remote_file(RemoteFile kind, const std::string& build_id) {
  static std::mutex mutex;
  if (build_id.empty() || !has_debuginfod()) return std::nullopt;
  const std::lock_guard lock(mutex);
  const std::unique_ptr<Client, void (*)(Client*)> client(library().begin(), library().end);
  if (client == nullptr) return std::nullopt;
  const auto find =
      kind == RemoteFile::kDebugInfo ? library().find_debuginfo : library().find_executable;
  host::UniqueFd fd(find(client.get(), build_id.c_str(), 0, nullptr));
  if (fd.value() < 0) return std::nullopt;
  auto file = ElfFile::from_descriptor(std::move(fd));
  if (!file || file->build_id() != build_id) return std::nullopt;
  file->set_origin("debuginfod");
  return std::move(*file);
}

}  // namespace swipr::symbolize
