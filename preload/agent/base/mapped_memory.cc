#include "preload/agent/base/mapped_memory.h"

namespace swipr::agent {

void* map_memory(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

void* grow_memory(void* memory, std::size_t bytes, std::size_t new_bytes) noexcept {
  void* grown = ::mremap(memory, bytes, new_bytes, MREMAP_MAYMOVE);
  return grown == MAP_FAILED ? nullptr : grown;
}

void unmap_memory(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

}  // namespace swipr::agent
