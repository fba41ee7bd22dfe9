// Small readers of /proc without stdio, opendir or malloc.
// Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/agent/base/text/fixed_text.h"

namespace swipr::agent {

// Appends as much of the file as fits. False: it could not be opened or read.
bool read_file_text(const char* path, TextWriter& out) noexcept;

struct ProcessStatus {
  std::uint64_t threads = 0;
  std::uint64_t start_time_ns = 0;  // CLOCK_REALTIME, to a clock tick (10 ms), rounded down
};

// This process. Members are 0 without /proc.
ProcessStatus read_process_status() noexcept;

// Lines of a file of any length through a buffer of fixed size; longer lines are cut.
class LineReader {
 public:
  explicit LineReader(const char* path) noexcept;
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // False: no more. The line is valid until the next call.
  bool next(std::string_view& line) noexcept;

 private:
  bool refill() noexcept;

  int fd_ = -1;
  bool at_end_ = false;
  bool skipping_ = false;  // the rest of a cut line
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  char buffer_[8192];  // a maps line is a path of up to 4096 bytes and about 80 more
};

}  // namespace swipr::agent
