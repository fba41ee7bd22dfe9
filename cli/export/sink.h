// Buffered writing to a descriptor. The first failure (disk full, reader gone) is kept, what is
// written after it is dropped, and flush() reports it: writers need no check per call, but may ask
// failed() to stop early. SIGPIPE must be ignored by the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::exporters {

class Sink {
 public:
  // `fd` stays the caller's; `name` is for error messages.
  Sink(int fd, std::string name);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(std::string_view bytes);
  bool failed() const { return errno_ != 0; }
  // Writes what is buffered. Errors: "cannot write NAME: No space left on device", every time.
  host::Result<void> flush();

 private:
  void drain();

  int fd_;
  std::string name_;
  std::string buffer_;
  int errno_ = 0;
};

}  // namespace swipr::exporters
