// Buffered writing to a descriptor. The first failure (disk full, reader gone) is kept, what is
// written after it is dropped, and flush() reports it: writers need no check per call, but may ask
// failed() to stop early. SIGPIPE must be ignored by the program. What is more than a buffer is
// written by a thread of the sink's own while the next buffer is filled: for gigabytes of text the
// kernel takes as long as whoever makes it.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/host/result.h"

namespace swipr::exporters {

class Sink {
 public:
  // `fd` stays the caller's; `name` is for error messages.
  Sink(int fd, std::string name);
  // Without flush() what is buffered is lost.
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(std::string_view bytes);
  // The same for long texts that are written again and again: they are not copied.
  // Lifetime: until flush() or the sink's end.
  void write_kept(std::string_view bytes);

  bool failed() const { return errno_ != 0; }
  // Writes what is buffered. Errors: "cannot write NAME: No space left on device", every time.
  host::Result<void> flush();

 private:
  // What goes out together: pieces, of which some lie in `copied`.
  struct Batch {
    std::string copied;  // never grows beyond its first capacity: pieces point into it
    std::vector<iovec> pieces;
    std::size_t size = 0;

    void add(std::string_view bytes);
    void clear();
  };

  void hand_over_if_full();
  void wait_until_written();
  void run();
  void put(Batch& batch);

  int fd_;
  std::string name_;
  Batch filling_;
  std::atomic<int> errno_ = 0;

  std::thread writer_;  // started with the first full batch
  std::mutex mutex_;
  std::condition_variable changed_;
  Batch full_;  // the writer's while it is not empty
  bool ending_ = false;
};

}  // namespace swipr::exporters
