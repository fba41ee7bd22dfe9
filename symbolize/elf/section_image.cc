#include "symbolize/elf/section_image.h"

#include <elf.h>
#include <gelf.h>

#include <cstring>
#include <string>

namespace swipr::symbolize {
namespace {

Elf64_Ehdr header_of(std::size_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections);
  header.e_shstrndx = static_cast<Elf64_Half>(sections - 1);
  return header;
}

void append(std::vector<char>* bytes, const void* data, std::size_t size) {
  const char* begin = static_cast<const char*>(data);
  bytes->insert(bytes->end(), begin, begin + size);
}

}  // namespace

// In the image every section has one byte, that of the first name; its data then point elsewhere.
SectionImage::SectionImage(std::span<const Section> sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  std::vector<std::span<const std::byte>> contents;
  for (const auto& [name, bytes] : sections) {
    if (bytes.empty()) continue;
    Elf64_Shdr& header = headers.emplace_back();
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = SHT_PROGBITS;
    header.sh_size = 1;
    header.sh_addralign = 1;
    names.append(name).append(1, '\0');
    contents.push_back(bytes);
  }
  Elf64_Shdr& last = headers.emplace_back();
  last.sh_type = SHT_STRTAB;
  last.sh_size = names.size();
  last.sh_addralign = 1;
  for (std::size_t index = 1; index < headers.size(); ++index) {
    headers[index].sh_offset = sizeof(Elf64_Ehdr) + headers.size() * sizeof(Elf64_Shdr);
  }
  const Elf64_Ehdr header = header_of(headers.size());
  append(&bytes_, &header, sizeof header);
  append(&bytes_, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  append(&bytes_, names.data(), names.size());
  elf_version(EV_CURRENT);
  elf_.reset(elf_memory(bytes_.data(), bytes_.size()));
  for (std::size_t index = 0; elf_ != nullptr && index < contents.size(); ++index) {
    Elf_Data* data = elf_getdata(elf_getscn(elf_.get(), index + 1), nullptr);
    if (data == nullptr) {
      elf_.reset();
      return;
    }
    // Nobody writes through it: the image was opened for reading.
    data->d_buf = const_cast<std::byte*>(contents[index].data());
    data->d_size = contents[index].size();
  }
}

}  // namespace swipr::symbolize
