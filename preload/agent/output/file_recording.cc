#include "preload/agent/output/file_recording.h"

#include <unistd.h>

#include <cerrno>
#include <new>

#include "common/core/duration_text.h"
#include "preload/agent/base/log.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/output/recording_place.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kQueueBytes = std::size_t{4} << 20;

std::chrono::nanoseconds interval_of(const Settings& settings) noexcept {
  const RecordingRequest standard;
  if (settings.record_interval.empty()) return standard.interval;
  std::chrono::nanoseconds interval{0};
  if (parse_duration_text(settings.record_interval, interval, std::chrono::milliseconds(1)) ==
          DurationError::kNone &&
      interval >= kMinInterval && interval <= kMaxInterval) {
    return interval;
  }
  log_line(LogLevel::kError, "SWIPR_RECORD_INTERVAL is not a time from 100us to 1h; using 10ms",
           settings.record_interval);
  return standard.interval;
}

wire::RecordMode mode_of(const Settings& settings) noexcept {
  wire::RecordMode mode = wire::RecordMode::kWall;
  if (!settings.record_mode.empty() && !wire::find_record_mode(settings.record_mode, mode)) {
    log_line(LogLevel::kError, "SWIPR_RECORD_MODE is not wall, cpu or offcpu; using wall",
             settings.record_mode);
  }
  return mode;
}

void log_refusal(std::string_view path, int error) noexcept {
  if (error == EINVAL) {
    return log_line(LogLevel::kError, "SWIPR_RECORD needs a folder or a regular file", path);
  }
  if (error == ELOOP) {
    return log_line(
        LogLevel::kError,
        "SWIPR_RECORD: others can write to the folder, and the file is a symbolic link, "
        "belongs to another user or has another name",
        path);
  }
  log_line(LogLevel::kError, "cannot write the recording", path, error);
}

}  // namespace

void FileRecording::start(const Settings& settings, pid_t pid) noexcept {
  if (settings.record_path.empty()) return;
  start(settings.record_path,
        {.interval = interval_of(settings),
         .mode = mode_of(settings),
         .jitter = settings.record_jitter,
         .omits_arguments = !settings.record_arguments},
        pid);
}

const char* FileRecording::start(std::string_view pattern, const RecordingRequest& request,
                                 pid_t pid) noexcept {
  if (is_running()) return "there is a recording into a file already";
  if (!exit_gate::enter_recording()) return "the process ends";
  PathText path;
  fd_ = open_recording_file(pattern, pid, path);
  if (fd_ < 0) {
    log_refusal(path.view(), errno);
    return "the file cannot be written";
  }
  if (queue_.size() != 0) queue_.pop(queue_.size());  // what an earlier file had no room for
  const char* error = "no memory for the recording";
  if (queue_.has_memory() || queue_.create(kQueueBytes)) {
    recording_ = recorder().start(request, queue_, &error);
  }
  if (recording_ == nullptr) {
    log_line(LogLevel::kError, error, path.view());
    ::close(fd_);
    fd_ = -1;
    return error;
  }
  log_line(LogLevel::kInfo, "recording into", path.view());
  write_out();
  return nullptr;
}

void FileRecording::write_out() noexcept {
  while (fd_ >= 0 && queue_.size() != 0) {
    const std::span<const std::byte> bytes = queue_.front();
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      log_line(LogLevel::kError, "the recording ends early: cannot write its file", {}, errno);
      ::close(fd_);
      fd_ = -1;
      return finish(wire::EndReason::kFailed, "");
    }
    queue_.pop(static_cast<std::size_t>(written));
  }
  if (recording_ != nullptr && recorder().is_complete(recording_)) {
    finish(wire::EndReason::kComplete, "");
  }
}

void FileRecording::finish(wire::EndReason reason, const char* text) noexcept {
  if (recording_ == nullptr) return;
  Recording* const recording = recording_;
  recording_ = nullptr;
  recorder().finish(recording, reason, text);
  write_out();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void FileRecording::reset_after_fork() noexcept {
  fd_ = -1;  // of the parent's table
  recording_ = nullptr;
  queue_.~OutputQueue();
  new (&queue_) OutputQueue;
}

}  // namespace swipr::agent
