// Memory for capture: anonymous mappings, because the thread that is being sampled may hold the
// lock of the program's malloc. Not inherited by children of a fork (MADV_DONTFORK), which do not
// need it.
// Context: control thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace swipr::agent {

inline constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t round_to_pages(std::size_t bytes) noexcept {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// kRecording: small pieces lie side by side in one mapping, which goes with the last of them,
// because each munmap of its own interrupts every CPU that runs the program (TLB shootdown; kernel,
// mm/mmu_gather.c). kProcess: a mapping of its own, for what outlives recordings.
enum class Lifetime : std::uint8_t { kRecording, kProcess };

// Zeroed whole pages, allocated on first use; sizes are multiples of a page. nullptr: no memory.
void* map_memory(std::size_t bytes, Lifetime lifetime = Lifetime::kRecording) noexcept;
void* grow_memory(void* memory, std::size_t bytes, std::size_t new_bytes) noexcept;
void unmap_memory(void* memory, std::size_t bytes) noexcept;
// In the child of a fork, which has inherited none of it.
void forget_mapped_memory() noexcept;

// An array of plain values that grows by doubling its mapping. No destructor, because it is a
// member of static objects, which must not register destructors to run at exit; owners call
// release().
template <typename T, Lifetime kLifetime = Lifetime::kRecording>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>, "mremap moves the bytes");

 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }

  // False: no memory; the array is as before.
  [[nodiscard]] bool reserve(std::size_t count) noexcept {
    if (count <= capacity_) return true;
    const std::size_t wanted = count < 2 * capacity_ ? 2 * capacity_ : count;
    const std::size_t bytes = round_to_pages(wanted * sizeof(T));
    void* memory =
        data_ == nullptr ? map_memory(bytes, kLifetime) : grow_memory(data_, mapped_bytes_, bytes);
    if (memory == nullptr) return false;
    data_ = static_cast<T*>(memory);
    mapped_bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
    return true;
  }
  [[nodiscard]] bool push_back(const T& value) noexcept {
    if (!reserve(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }
  // New elements are value-initialised.
  [[nodiscard]] bool resize(std::size_t count) noexcept {
    if (!reserve(count)) return false;
    for (std::size_t index = size_; index < count; ++index) data_[index] = T{};
    size_ = count;
    return true;
  }
  // Adds elements that were written after the end, within the reserved memory.
  void add_written(std::size_t count) noexcept { size_ += count; }
  void clear() noexcept { size_ = 0; }
  void release() noexcept {
    if (data_ != nullptr) unmap_memory(data_, mapped_bytes_);
    data_ = nullptr;
    size_ = capacity_ = mapped_bytes_ = 0;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace swipr::agent
