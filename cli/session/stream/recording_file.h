// The .swipr file that `swipr record` writes: one file header, then blocks of any number of
// sources. An existing file keeps its contents until the first block arrives, so that a recording
// that never starts costs nobody an older one.
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
  // A file without a name in this folder, readable, gone with its descriptor.
  // Errors: the folder takes no files.
  static host::Result<RecordingFile> create_temporary(const std::string& folder);
  // Writes to a descriptor that the caller opened; `name` is for messages.
  RecordingFile(host::UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  RecordingFile(RecordingFile&&) = default;
  RecordingFile& operator=(RecordingFile&&) = delete;
  ~RecordingFile();

  // Of a temporary file: from the beginning, for reading what was written. Lifetime: this object's.
  int rewind();
  // Gives a temporary file this name, which no file may have.
  // Errors: there is such a file; the disk is full where it had to be copied.
  host::Result<void> keep_as(const std::string& path);

  std::uint32_t add_source() { return source_count_++; }
  // Errors: the disk is full or such; what was written before stays readable, failed() is true, and
  // every further write is refused.
  host::Result<void> write_block(std::uint32_t source, std::span<const std::byte> payload);
  // A block of its own that says how the source ended.
  host::Result<void> write_end(std::uint32_t source, const wire::EndRecord& record);
  // A line for the person who reads the profile, about the source.
  host::Result<void> write_message(std::uint32_t source, std::string_view text);
  // Reports what the file system kept for the end (NFS, quota). A file that this object created and
  // that got no block is removed; so does the destructor.
  host::Result<void> close();

  bool failed() const { return error_.has_value(); }
  // Why writing failed first.
  const std::optional<host::Error>& error() const { return error_; }
  bool empty() const { return bytes_ == 0; }
  // A file on disk, neither pipe nor device.
  bool is_regular() const { return regular_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  host::Result<void> start();
  host::Result<void> write(std::span<const std::byte> bytes);

  host::UniqueFd fd_;
  std::string name_;
  std::uint64_t bytes_ = 0;  // whole units written
  std::uint32_t source_count_ = 0;
  bool regular_ = false;                      // can be cut back to the last whole block
  std::optional<host::OutputPlace> created_;  // where there was no file before
  std::optional<host::Error> error_;
};

}  // namespace swipr::session
