// The requested parts of a file, in memory at their offsets in the file. A file is read,
// not mapped: one that is truncated meanwhile yields zeros, not SIGBUS. Other parts
// take no memory and read as zeros.
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

  // Each byte of the file is read once, however often it is asked for; what lies behind the end is
  // ignored. Large parts are read by several threads. Not while another thread uses the same
  // object.
  void load(std::uint64_t offset, std::uint64_t size);

  // Adds zeros behind the end of the file. What bytes() gave is invalid. False: no memory.
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
