#include "preload/agent/base/output_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

bool OutputQueue::create(std::size_t capacity_bytes) noexcept {
  const std::size_t bytes = round_to_pages(capacity_bytes);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  data_ = static_cast<std::byte*>(memory);
  capacity_ = bytes;
  return true;
}

OutputQueue::~OutputQueue() {
  if (data_ != nullptr) ::munmap(data_, capacity_);
}

bool OutputQueue::try_append(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() > free_bytes()) return false;
  if (bytes.empty()) return true;
  const std::size_t end = (begin_ + size_) % capacity_;
  const std::size_t first = std::min(bytes.size(), capacity_ - end);
  std::memcpy(data_ + end, bytes.data(), first);
  std::memcpy(data_, bytes.data() + first, bytes.size() - first);
  size_ += bytes.size();
  return true;
}

std::span<const std::byte> OutputQueue::front() const noexcept {
  return {data_ + begin_, std::min(size_, capacity_ - begin_)};
}

void OutputQueue::pop(std::size_t bytes) noexcept {
  begin_ = (begin_ + bytes) % capacity_;
  size_ -= bytes;
  if (size_ == 0) begin_ = 0;
}

}  // namespace swipr::agent
