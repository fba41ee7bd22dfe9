// Messages of an agent, to stderr or to a file that is replaced when it is full.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

class AgentLog {
 public:
  // `path`: empty: stderr.  Errors: the file cannot be written.
  static host::Result<AgentLog> open(const std::string& path);

  // One line, cleaned. In a file it begins with the time.
  void say(std::string_view text);

 private:
  explicit AgentLog(std::string path) : path_(std::move(path)) {}
  host::Result<void> open_file();

  std::string path_;
  host::UniqueFd file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace swipr::commands
