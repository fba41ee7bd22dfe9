#include "symbolize/text/swift_names.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/host/unique_fd.h"
#include "common/host/unnamed_file.h"

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxOutputBytes = std::size_t{256} << 20;

// A file, not a pipe: what both sides would wait for cannot happen.
host::UniqueFd make_file(std::string_view content) {
  host::UniqueFd file = host::make_unnamed_file("swipr-swift-names");
  while (file && !content.empty()) {
    const ssize_t count = ::write(file.value(), content.data(), content.size());
    if (count <= 0) return {};
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  if (file) ::lseek(file.value(), 0, SEEK_SET);
  return file;
}

bool run(const char* program, int input, int output) {
  posix_spawn_file_actions_t files;
  if (::posix_spawn_file_actions_init(&files) != 0) return false;
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  const std::array<char*, 2> arguments = {name.data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program, &files, nullptr, arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() < kMaxOutputBytes) {
    const ssize_t count =
        ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

// Swift 5, 4.x and 4.0; the underscore is Darwin's.
bool is_swift_name(std::string_view name) {
  return name.starts_with("$s") || name.starts_with("$S") || name.starts_with("_$s") ||
         name.starts_with("_$S") || name.starts_with("_T0");
}

std::optional<std::vector<std::string>> demangle_swift(std::span<const std::string_view> names) {
  std::string input;
  for (const std::string_view name : names) input.append(name).append("\n");
  const host::UniqueFd from = make_file(input);
  const host::UniqueFd to = make_file({});
  if (!from || !to || !run("swift-demangle", from.value(), to.value())) return std::nullopt;
  std::vector<std::string> lines = lines_of(read_all(to.value()));
  if (lines.size() != names.size()) return std::nullopt;
  return lines;
}

}  // namespace swipr::symbolize
