#include "cli/commands/names/symbolizer_options.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "cli/session/modules/module_servers.h"
#include "symbolize/files/cache_folder.h"
#include "symbolize/files/debuginfod.h"

namespace swipr::commands {
namespace {

// Empty: there is no such folder for this user.
std::string find_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/swipr";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/swipr";
  return {};
}

constexpr std::uint64_t kMaxTableBytes = 256 << 20;

}  // namespace

void offer_table_folder() {
  const char* wanted = std::getenv("SWIPR_CACHE");
  const std::string folder = find_cache_folder();
  if (folder.empty() || (wanted != nullptr && std::string_view(wanted) == "off")) return;
  symbolize::make_cache_folder(folder);
  symbolize::make_cache_folder(folder + "/tables");
  symbolize::remove_oldest_files(folder + "/tables", kMaxTableBytes);
}

symbolize::Options symbolizer_options(const options::SymbolOptions& chosen) {
  symbolize::Options result;
  result.demangle = chosen.demangle;
  result.inlines = chosen.inlines;
  result.symfs = chosen.symfs;
  result.debug_directories = chosen.debug_directories;
  if (!chosen.symfs.empty()) {
    result.debug_directories.push_back(chosen.symfs + "/usr/lib/debug");
  }
  result.debug_directories.emplace_back("/usr/lib/debug");
  result.debuginfod = symbolize::has_debuginfod();
  if (!chosen.cache) return result;
  result.cache_folder = find_cache_folder();
  result.fetch_module = [servers = std::make_shared<session::ModuleServers>()](
                            std::int32_t pid, const std::string& build_id, int fd) {
    return servers->fetch(Pid{pid}, build_id, fd).has_value();
  };
  return result;
}

}  // namespace swipr::commands
