// The file that a conversion writes: under a temporary name in the same folder until it is whole.
#pragma once

#include <string>

#include "common/host/output_place.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

class OutputFile {
 public:
  // `path` "-": standard output. What is no regular file (a device, a pipe) is written directly,
  // and so is an existing file whose folder takes no new ones. Links of other users are not
  // followed. Errors: cannot be written.
  static host::Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without commit() nothing is left behind, and an older file of that name is still there.
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
  host::OutputPlace place_;  // without a folder for standard output
  std::string temporary_;    // in the place's folder; empty: written directly
  bool has_name_ = false;    // `temporary_` exists
};

}  // namespace swipr::commands
