// Buffered writes to a descriptor. After the first failure (disk full, closed pipe) output is
// dropped, and flush() reports the failure. Writers need no check per call, but may call
// failed() to stop early. The program must ignore SIGPIPE. Output larger than one buffer is
// written by a thread of the sink while the next buffer is filled, because for gigabytes of text
// the kernel takes as long as the formatting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/host/result.h"

namespace swipr::exporters {

class Sink {
 public:
  // The caller keeps ownership of `fd`; `name` is for error messages.
  Sink(int fd, std::string name);
  // Without flush(), buffered output is lost.
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(std::string_view bytes);
  bool failed() const { return errno_ != 0; }
  // Writes the buffer.  Errors: "cannot write NAME: No space left on device", every time.
  host::Result<void> flush();

 private:
  void hand_over();
  void wait_until_written();
  void run();
  void put(std::string_view bytes);

  int fd_;
  std::string name_;
  std::string buffer_;
  std::atomic<int> errno_ = 0;

  std::thread writer_;  // started with the first full buffer
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string full_;  // owned by the writer while it is not empty
  bool ending_ = false;
};

}  // namespace swipr::exporters
