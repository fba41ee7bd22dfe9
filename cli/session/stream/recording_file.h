// The .swipr file that `swipr record` writes: one file header, then blocks of any number of
// sources. An existing file is kept until the first block arrives, so that a recording that
// never starts does not destroy an older one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/host/output_place.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"
#include "common/wire/format.h"

namespace swipr::session {

class RecordingFile {
 public:
  // `path` "-": standard output. Links of other users are not followed.
  // Errors: cannot be opened for writing.
  static host::Result<RecordingFile> open(const std::string& path);
  // Creates an unnamed, readable file in this folder, which is deleted when it is closed.
  // Errors: no file can be created in the folder.
  static host::Result<RecordingFile> create_temporary(const std::string& folder);
  // Writes to a descriptor that the caller opened; `name` is for messages.
  RecordingFile(host::UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  RecordingFile(RecordingFile&&) = default;
  RecordingFile& operator=(RecordingFile&&) = delete;
  ~RecordingFile();

  // A descriptor for reading a temporary file from its start. Lifetime: that of this object.
  int rewind();
  // Gives a temporary file this name, which must be unused.
  // Errors: the file exists; the disk is full (if it had to be copied).
  host::Result<void> keep_as(const std::string& path);

  std::uint32_t add_source() { return source_count_++; }
  // Errors: the disk is full, for example. What was written before stays readable, failed() is
  // true, and further writes are refused.
  host::Result<void> write_block(std::uint32_t source, std::span<const std::byte> payload);
  // Writes the end record of the source, in a separate block.
  host::Result<void> write_end(std::uint32_t source, const wire::EndRecord& record);
  // Writes a message about the source, which readers of the recording show.
  host::Result<void> write_message(std::uint32_t source, std::string_view text);
  // Reports errors that the file system delays until close (NFS, quota). Removes the file if
  // this object created it and it has no block; so does the destructor.
  host::Result<void> close();

  bool failed() const { return error_.has_value(); }
  // The first write error.
  const std::optional<host::Error>& error() const { return error_; }
  bool empty() const { return bytes_ == 0; }
  // True for a regular file.
  bool is_regular() const { return regular_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  host::Result<void> start();
  host::Result<void> write(std::span<const std::byte> bytes);

  host::UniqueFd fd_;
  std::string name_;
  std::uint64_t bytes_ = 0;  // complete headers and blocks written
  std::uint32_t source_count_ = 0;
  bool regular_ = false;                      // can be truncated to the last complete block
  std::optional<host::OutputPlace> created_;  // set if the file did not exist before
  std::optional<host::Error> error_;
};

}  // namespace swipr::session
