// The recording that SWIPR_RECORD asks for: from the constructor to the end of the process, into a
// file, without any client. What was written is a usable recording whatever ends the process.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include "preload/agent/base/output_queue.h"
#include "preload/agent/engine/recorder.h"
#include "preload/agent/guest/settings.h"

namespace swipr::agent {

class FileRecording {
 public:
  // Does nothing unless the settings ask for it. Errors: none are visible; the log says why.
  void start(const Settings& settings, pid_t pid) noexcept;
  bool is_running() const noexcept { return recording_ != nullptr; }
  // Hands what waits to the kernel, where it survives the process. Blocks: as long as the file
  // system makes a write wait; ticks that are late for it are counted. A recording that the
  // recorder has ended is finished here.
  void write_out() noexcept;
  void finish(wire::EndReason reason, const char* text) noexcept;
  // In the child of a fork: the recording is the parent's.
  void reset_after_fork() noexcept;

 private:
  int fd_ = -1;
  Recording* recording_ = nullptr;
  OutputQueue queue_;
};

}  // namespace swipr::agent
