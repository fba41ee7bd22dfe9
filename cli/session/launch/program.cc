#include "cli/session/launch/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "common/host/proc.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

// Returns 0, or the errno with which running the file would fail.
int executable_error(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// True if the kernel will run the program with other privileges, so that the loader ignores
// LD_PRELOAD (AT_SECURE; security/commoncap.c, cap_bprm_creds_from_file).
bool changes_rights(const std::string& path) {
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;  // such bits have no effect then
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::getuid()) return true;
  if ((info.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && info.st_gid != ::getgid()) {
    return true;
  }
  return ::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

ProgramSearch find_program(const std::string& name) {
  ProgramSearch search;
  if (name.find('/') != std::string::npos) {
    search.error = executable_error(name);
    if (search.error == 0) search.path = name;
    return search;
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/bin:/usr/bin" : variable;
  search.error = ENOENT;
  for (bool more = !name.empty(); more;) {
    const std::size_t end = rest.find(':');
    const std::string_view directory = rest.substr(0, end);
    const std::string candidate =
        fmt::format("{}/{}", directory.empty() ? std::string_view(".") : directory, name);
    const int error = executable_error(candidate);
    if (error == 0) return ProgramSearch{candidate, 0};
    if (error == EACCES) search.error = EACCES;
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  return search;
}

std::string resolve_interpreter(const std::string& path) {
  constexpr int kMaxDepth = 4;  // fs/exec.c gives up after five
  constexpr std::size_t kLineBytes = 256;
  std::string current = path;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const auto text = host::read_file(current, kLineBytes);
    if (!text || !text->starts_with("#!")) break;
    std::string_view line(*text);
    line = line.substr(2, line.find('\n') - 2);
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    current = line.substr(0, line.find_first_of(" \t\r"));
  }
  return current;
}

std::optional<std::string> find_obstacle(const std::string& path) {
  const std::string program = resolve_interpreter(path);
  const std::string via = program == path ? "" : fmt::format("runs {}, which ", program);
  const auto traits = read_elf_traits(program);
  if (!traits) return std::nullopt;  // the kernel will report the error
  if (traits->is_32_bit) {
    return via + "is a 32-bit program: it cannot load libswipr_preload.so, which is 64-bit";
  }
  if (!traits->native) {
    return via +
           "is built for another architecture or word size than this swipr: it cannot load "
           "libswipr_preload.so";
  }
  if (traits->interpreter.empty()) {
    return via +
           "is statically linked: no loader can load libswipr_preload.so into it; link it "
           "dynamically to record it";
  }
  if (changes_rights(program)) {
    return via +
           "is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD for such "
           "programs; run swipr as the user that the program becomes, or remove the bit from a "
           "copy";
  }
  return std::nullopt;
}

std::string find_leading_runtime(const ElfTraits& traits) {
  for (const std::string& name : traits.needed) {
    for (std::string_view runtime : {"asan", "tsan", "lsan", "ubsan"}) {
      if (name.starts_with(fmt::format("lib{}.so", runtime)) ||
          name.starts_with(fmt::format("libclang_rt.{}", runtime))) {
        return name;
      }
    }
  }
  return "";
}

Result<std::string> find_preload() {
  constexpr std::string_view kName = "libswipr_preload.so";
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  if (length <= 0) return std::string(kName);
  const std::string here = directory_of({self.data(), static_cast<std::size_t>(length)});
  // Installed below any prefix (SWIPR_LIBDIR is the library directory relative to the
  // program's), both in one directory, or in the build tree.
  for (std::string_view place : {SWIPR_LIBDIR, "../lib", ".", "../preload"}) {
    const std::string candidate = fmt::format("{}/{}/{}", here, place, kName);
    std::array<char, PATH_MAX> resolved{};
    if (::realpath(candidate.c_str(), resolved.data()) == nullptr) continue;
    const std::string path = resolved.data();
    if (path.find_first_of(" :\t\n") != std::string::npos) {
      return Error(fmt::format(
          "the path of {} contains a space or a colon, which LD_PRELOAD does not allow; "
          "install swipr elsewhere",
          path));
    }
    const auto traits = read_elf_traits(path);
    if (!traits || !traits->native || traits->is_truncated) {
      return Error(fmt::format(
          "{} {}; install swipr again", path,
          !traits || traits->native ? "is damaged" : "is built for another architecture"));
    }
    return path;
  }
  return std::string(kName);
}

Result<std::string> find_installed_preload() {
  auto path = find_preload();
  if (path && path->find('/') == std::string::npos) {
    return Error(*path + " is not installed beside this swipr");
  }
  return path;
}

std::string preload_setting() {
  const auto path = find_preload();
  return "LD_PRELOAD=" + (path ? *path : std::string("libswipr_preload.so"));
}

}  // namespace swipr::session
