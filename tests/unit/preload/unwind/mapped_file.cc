#include "tests/unit/preload/unwind/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace swipr::unwind {

MappedFile::MappedFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status = {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(memory), size};
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (is_open()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::span<const Elf64_Phdr> MappedFile::segments() const {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes_.data());
  return {reinterpret_cast<const Elf64_Phdr*>(bytes_.data() + header->e_phoff), header->e_phnum};
}

std::uint64_t MappedFile::elf_header() const {
  for (const Elf64_Phdr& segment : segments()) {
    if (segment.p_type == PT_LOAD) return kLoadBias + segment.p_vaddr - segment.p_offset;
  }
  return 0;
}

std::uint64_t MappedFile::section_bytes(std::string_view name) const {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes_.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes_.data() + header->e_shoff);
  const auto* names =
      reinterpret_cast<const char*>(bytes_.data() + sections[header->e_shstrndx].sh_offset);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (names + sections[i].sh_name == name) return sections[i].sh_size;
  }
  return 0;
}

bool MappedFile::read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const auto& file = *static_cast<const MappedFile*>(state);
  const std::uint64_t image_address = address - kLoadBias;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || image_address < segment.p_vaddr) continue;
    const std::uint64_t offset = image_address - segment.p_vaddr;
    if (offset > segment.p_filesz || out.size() > segment.p_filesz - offset) continue;
    std::memcpy(out.data(), file.bytes_.data() + segment.p_offset + offset, out.size());
    return true;
  }
  return false;
}

}  // namespace swipr::unwind
