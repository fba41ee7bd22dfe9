// An array of plain values that grows in an anonymous mapping of its own: the control thread must
// not touch the program's malloc, whose lock the interrupted program may hold. Context: control
// thread.  Allocates: mmap.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace swipr::unwind {

template <typename T>
class GrowableArray {
  static_assert(std::is_trivially_copyable_v<T>, "mremap moves the bytes");

 public:
  GrowableArray() noexcept = default;
  GrowableArray(const GrowableArray&) = delete;
  GrowableArray& operator=(const GrowableArray&) = delete;
  ~GrowableArray() {
    if (data_ != nullptr) ::munmap(data_, capacity_ * sizeof(T));
  }

  // False: no memory; the array is as before.
  bool reserve(std::size_t count) noexcept {
    if (count <= capacity_) return true;
    if (count > kMaxBytes / sizeof(T)) return false;
    const std::size_t bytes =
        round_up(count < 2 * capacity_ ? 2 * capacity_ * sizeof(T) : count * sizeof(T));
    void* memory = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                    : ::mremap(data_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return false;
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
    return true;
  }

  bool push_back(const T& value) noexcept {
    if (size_ == capacity_ && !reserve(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }

  bool append(std::span<const T> values) noexcept {
    if (!reserve(size_ + values.size())) return false;
    if (!values.empty()) std::memcpy(data_ + size_, values.data(), values.size_bytes());
    size_ += values.size();
    return true;
  }

  // New elements are zero: fresh mappings are, and nothing shrinks and grows again.
  bool resize(std::size_t count) noexcept {
    if (!reserve(count)) return false;
    size_ = count;
    return true;
  }

  void pop_back() noexcept { --size_; }
  T& back() noexcept { return data_[size_ - 1]; }
  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 30;
  // mremap wants whole pages, and the rounded size must stay the one that munmap is given.
  static std::size_t round_up(std::size_t bytes) noexcept {
    constexpr std::size_t kStep = sizeof(T) * 4096;
    return (bytes + kStep - 1) / kStep * kStep;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace swipr::unwind
