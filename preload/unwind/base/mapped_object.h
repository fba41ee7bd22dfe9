// One object in a mapping of its own, for objects that are too large for the control thread's
// stack. Untouched pages take no memory.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <sys/mman.h>

#include <new>
#include <utility>

namespace swipr::unwind {

template <typename T>
class MappedObject {
 public:
  template <typename... Arguments>
  explicit MappedObject(Arguments&&... arguments) noexcept {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) object_ = new (memory) T(std::forward<Arguments>(arguments)...);
  }
  MappedObject(const MappedObject&) = delete;
  MappedObject& operator=(const MappedObject&) = delete;
  ~MappedObject() {
    if (object_ == nullptr) return;
    object_->~T();
    ::munmap(object_, sizeof(T));
  }

  // False: no memory.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  T* operator->() const noexcept { return object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace swipr::unwind
