// The embedded files of speedscope, if the build contains it (cmake/speedscope.cmake).
#pragma once

#include <span>
#include <string_view>

namespace swipr::serve {

struct EmbeddedFile {
  std::string_view name;
  std::string_view type;
  const char* begin;
  const char* end;
  std::string_view bytes() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

// Empty: the build had no npm or no network.
std::span<const EmbeddedFile> speedscope_files();

}  // namespace swipr::serve
