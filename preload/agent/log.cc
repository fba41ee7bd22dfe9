#include "preload/agent/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "preload/agent/fixed_text.h"

namespace swipr::agent {

namespace {
int log_fd = -1;
}

void open_log(const Settings& settings) noexcept {
  if (settings.log.empty() || settings.log == "0") return;
  if (settings.log == "1" || settings.log == "stderr") {
    log_fd = ::fcntl(2, F_DUPFD_CLOEXEC, 3);
    return;
  }
  log_fd = ::open(settings.log.data(),
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

void close_log() noexcept {
  if (log_fd >= 0) ::close(log_fd);
  log_fd = -1;
}

void log_line(std::string_view what, std::string_view detail, int error_code) noexcept {
  if (log_fd < 0) return;
  FixedText<1024> line;
  line.append("swipr[").append_number(static_cast<std::uint64_t>(::getpid())).append("]: ");
  line.append(what);
  if (!detail.empty()) line.append(": ").append(detail);
  if (error_code > 0) {
    line.append(": errno ").append_number(static_cast<std::uint64_t>(error_code));
  }
  line.append('\n');
  // A log that cannot be written has nobody left to tell.
  [[maybe_unused]] const ssize_t written = ::write(log_fd, line.c_str(), line.size());
}

}  // namespace swipr::agent
