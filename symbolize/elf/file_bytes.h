// The requested parts of a file, in memory at their file offsets. The file is read, not mapped,
// so that truncation gives zeros instead of SIGBUS. Other parts take no memory and read as
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::symbolize {

class FileBytes {
 public:
  // Errors: no memory of that size can be reserved.
  static host::Result<std::shared_ptr<FileBytes>> open(host::UniqueFd fd, std::size_t size);
  static std::shared_ptr<FileBytes> from_memory(std::vector<char> bytes);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // Each byte of the file is read at most once; offsets past the end are ignored. Large parts
  // are read by several threads.
  // Thread: not while another thread uses this object.
  void load(std::uint64_t offset, std::uint64_t size);

  // Appends zeros to the end of the file. Invalidates bytes(). Returns false if there is no memory.
  bool grow(std::size_t count);

  std::span<char> bytes() { return {data_, size_}; }

 private:
  FileBytes() = default;
  void load_chunks(std::uint64_t begin, std::uint64_t end);

  host::UniqueFd fd_;
  std::vector<char> memory_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t file_size_ = 0;         // what can be loaded
  std::vector<std::uint8_t> loaded_;  // by chunk; threads write to different ones
};

}  // namespace swipr::symbolize
