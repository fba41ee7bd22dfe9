#include "tests/unit/preload/unwind/self_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

namespace swipr::unwind {

SelfReader::SelfReader() : fd_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
SelfReader::~SelfReader() { ::close(fd_); }

bool SelfReader::read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const int fd = static_cast<const SelfReader*>(state)->fd_;
  const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(address));
  return got == static_cast<ssize_t>(out.size());
}

SelfMap::SelfMap() {
  images_.reserve(512);  // ranges point into the tables, images are looked up by address
  std::ifstream maps("/proc/self/maps");
  std::string image_path;
  std::uint64_t image_start = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0, end = 0, offset = 0;
    char permissions[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start,
                    &end, permissions, &offset, &path_at) < 4) {
      continue;
    }
    const std::string path = line.substr(static_cast<std::size_t>(path_at));
    if (offset == 0 && !path.empty() && path != image_path) {
      image_path = path;
      image_start = start;
    }
    if (permissions[2] != 'x') continue;
    const Image* image =
        !path.empty() && path == image_path ? find_or_build(path, image_start) : nullptr;
    ranges_.push_back({.start = start,
                       .end = end,
                       .load_bias = image != nullptr ? image->built.load_bias : 0,
                       .table = image != nullptr ? image->built.table : nullptr});
  }
}

SelfMap::~SelfMap() {
  for (const Image& image : images_) destroy_table(image.built.table);
}

const SelfMap::Image* SelfMap::find_or_build(const std::string& path, std::uint64_t elf_header) {
  for (const Image& image : images_) {
    if (image.elf_header == elf_header) return &image;
  }
  images_.push_back({path, elf_header, build_table(elf_header, reader_.image_reader())});
  return &images_.back();
}

}  // namespace swipr::unwind
