// The path of the socket, where include/swipr/swipr.h finds it in the program's memory.
#pragma once

#include <atomic>
#include <string_view>

extern "C" {

// The layout is that of the header.
struct swipr_place {
  std::atomic<unsigned> is_ready;
  char path[108];
};

}  // extern "C"

namespace swipr::agent {

// Where to write it. Context: the constructor.
void set_published_place(swipr_place& place) noexcept;
// Context: control thread.
void publish_socket(std::string_view path) noexcept;
// Before the control thread starts again, in the child of a fork, too.
void unpublish_socket() noexcept;

}  // namespace swipr::agent
