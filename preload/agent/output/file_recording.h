// A recording to a file, without a client: the one that SWIPR_RECORD requests, from the constructor
// to the end of the process, or one that the program itself begins and ends. The file is a usable
// recording at any time, however the process ends.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "preload/agent/base/output_queue.h"
#include "preload/agent/engine/recorder.h"
#include "preload/agent/guest/settings.h"

namespace swipr::agent {

class FileRecording {
 public:
  // Does nothing unless the settings request it. Errors: none; the log contains the reason.
  void start(const Settings& settings, pid_t pid) noexcept;
  // `path`: as in SWIPR_RECORD. nullptr, or why there is none.
  const char* start(std::string_view path, const RecordingRequest& request, pid_t pid) noexcept;
  bool is_running() const noexcept { return recording_ != nullptr; }
  // Writes pending data to the kernel, where it survives the process. Blocks: as long as the file
  // system blocks a write; ticks that are late because of that are counted. Also finishes a
  // recording that the recorder has ended.
  void write_out() noexcept;
  void finish(wire::EndReason reason, const char* text) noexcept;
  // In the child of a fork: the recording belongs to the parent.
  void reset_after_fork() noexcept;

 private:
  int fd_ = -1;
  Recording* recording_ = nullptr;
  OutputQueue queue_;
};

}  // namespace swipr::agent
