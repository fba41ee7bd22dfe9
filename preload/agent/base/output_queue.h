// Bounded byte queue between a recording (writes blocks) and its connection (drains to the socket).
// A block that does not fit is refused as a whole, and the recording carries its times forward.
// Context: control thread. Allocates: one anonymous mapping at create, touched as it fills.
#pragma once

#include <cstddef>
#include <span>

namespace swipr::agent {

class OutputQueue {
 public:
  OutputQueue() = default;
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  // False: no memory. `capacity_bytes` is rounded up to whole pages.
  [[nodiscard]] bool create(std::size_t capacity_bytes) noexcept;

  bool has_memory() const noexcept { return data_ != nullptr; }
  std::size_t size() const noexcept { return size_; }
  std::size_t free_bytes() const noexcept { return capacity_ - size_; }
  // False: it does not fit, and nothing is appended.
  [[nodiscard]] bool try_append(std::span<const std::byte> bytes) noexcept;
  // The oldest contiguous bytes (empty: queue empty).
  std::span<const std::byte> front() const noexcept;
  void pop(std::size_t bytes) noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace swipr::agent
