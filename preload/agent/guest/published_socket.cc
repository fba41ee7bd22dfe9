#include "preload/agent/guest/published_socket.h"

#include <cstddef>
#include <cstring>

namespace swipr::agent {

namespace {

static_assert(sizeof(swipr_place) == 112 && offsetof(swipr_place, path) == 4);

swipr_place* published = nullptr;

}  // namespace

void set_published_place(swipr_place& place) noexcept { published = &place; }

void publish_socket(std::string_view path) noexcept {
  if (published == nullptr || path.size() >= sizeof published->path) return;
  std::memcpy(published->path, path.data(), path.size());
  published->path[path.size()] = '\0';
  published->is_ready.store(1, std::memory_order_release);
}

void unpublish_socket() noexcept {
  if (published != nullptr) published->is_ready.store(0, std::memory_order_release);
}

}  // namespace swipr::agent
