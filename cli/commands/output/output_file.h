// The output file of a conversion. It has a temporary name in the same folder until it is complete.
#pragma once

#include <string>

#include "common/host/output_place.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

class OutputFile {
 public:
  // `path` "-": standard output. Devices and pipes are written directly, and so is an existing
  // file in a folder without write permission. Symlinks of other users are not followed.
  // Errors: the file cannot be written.
  static host::Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without commit() the temporary file is removed and an older file of that name is kept.
  ~OutputFile();

  int fd() const { return fd_.value(); }
  const std::string& name() const { return name_; }
  host::Result<void> commit();

 private:
  OutputFile() = default;
  host::Result<void> open_directly();
  host::Result<void> open_temporary();

  host::UniqueFd fd_;
  std::string name_;         // for messages
  host::OutputPlace place_;  // empty for standard output
  std::string temporary_;    // in the same folder; empty: written directly
  bool has_name_ = false;    // `temporary_` exists
};

}  // namespace swipr::commands
