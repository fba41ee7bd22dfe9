// An array of plain values that grows in an anonymous mapping of its own: the control thread must
// not touch the program's malloc, whose lock the interrupted program may hold. The first kInline of
// them are in the object, because a mapping costs some 5 µs: what the kernel does for it, for its
// first pages, and for its end. Context: control thread.  Allocates: mmap.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {

struct Mapping {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

template <typename T, std::size_t kInline = 0>
class GrowableArray {
  static_assert(std::is_trivially_copyable_v<T>, "mremap moves the bytes");

 public:
  GrowableArray() noexcept {}  // NOLINT(modernize-use-equals-default): inline_ has no value
  GrowableArray(const GrowableArray&) = delete;
  GrowableArray& operator=(const GrowableArray&) = delete;
  ~GrowableArray() {
    if (is_mapped()) ::munmap(data_, capacity_ * sizeof(T));
  }

  // False: no memory; the array is as before.
  bool reserve(std::size_t count) noexcept {
    if (count <= capacity_) {
      if (is_mapped() && count * sizeof(T) > populated_bytes_) populate(count * sizeof(T));
      return true;
    }
    if (count > kMaxBytes / sizeof(T)) return false;
    const std::size_t bytes =
        round_up(count < 2 * capacity_ ? 2 * capacity_ * sizeof(T) : count * sizeof(T));
    void* memory = is_mapped() ? ::mremap(data_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE)
                               : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (!is_mapped() && size_ != 0) std::memcpy(memory, inline_, size_ * sizeof(T));
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
    populate(count * sizeof(T));
    return true;
  }

  bool push_back(const T& value) noexcept {
    if (size_ == capacity_ && !reserve(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }

  // Within what was reserved.
  void push_back_reserved(const T& value) noexcept { data_[size_++] = value; }

  bool append(std::span<const T> values) noexcept {
    if (!reserve(size_ + values.size())) return false;
    if (!values.empty()) std::memcpy(data_ + size_, values.data(), values.size_bytes());
    size_ += values.size();
    return true;
  }

  // New elements are zero, as fresh mappings are, unless the array was longer before.
  bool resize(std::size_t count) noexcept {
    if (!reserve(count)) return false;
    if (!is_mapped())
      std::memset(static_cast<void*>(data_ + size_), 0,
                  (std::max(count, size_) - size_) * sizeof(T));
    size_ = count;
    return true;
  }

  // The elements in a mapping of only the pages that they need. The caller owns it from now on.
  Mapping release() noexcept requires(kInline == 0) {
    const std::size_t bytes = (size_ * sizeof(T) + page_bytes() - 1) & -page_bytes();
    if (!is_mapped()) return {};
    Mapping mapping{data_, bytes};
    ::munmap(reinterpret_cast<std::byte*>(data_) + bytes, capacity_ * sizeof(T) - bytes);
    data_ = reinterpret_cast<T*>(inline_);
    size_ = capacity_ = populated_bytes_ = 0;
    return mapping;
  }

  void truncate(std::size_t count) noexcept { size_ = std::min(size_, count); }
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
  // Whole elements, and whole pages of the kernel: munmap and madvise refuse to begin within one.
  static std::size_t round_up(std::size_t bytes) noexcept {
    const std::size_t step = sizeof(T) * page_bytes();
    return (bytes + step - 1) / step * step;
  }

  // Makes the kernel allocate the pages up to `needed` and some more at once: single page faults
  // cost a quarter of the time to build a table. Kernels before 5.14 refuse, which does no harm.
  void populate(std::size_t needed) noexcept {
    constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
    constexpr std::size_t kMostAhead = std::size_t{64} << 10;
    const std::size_t first = std::max(std::size_t{16} << 10, page_bytes());
    const std::size_t ahead = std::clamp(needed, first, kMostAhead);
    const std::size_t end = std::min((needed + ahead) & -page_bytes(), capacity_ * sizeof(T));
    ::madvise(reinterpret_cast<std::byte*>(data_) + populated_bytes_, end - populated_bytes_,
              kPopulateWrite);
    populated_bytes_ = end;
  }

  bool is_mapped() const noexcept { return capacity_ > kInline; }

  std::size_t populated_bytes_ = 0;
  T* data_ = reinterpret_cast<T*>(inline_);
  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
  alignas(T) std::byte inline_[kInline == 0 ? 1 : kInline * sizeof(T)];
};

}  // namespace swipr::unwind
