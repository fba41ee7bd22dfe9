#include "preload/agent/base/file_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace swipr::agent {

namespace {

constexpr std::uint64_t kMaxSections = 4096;  // libraries have about 40

class File {
 public:
  explicit File(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }

  template <typename Value>
  bool read(std::uint64_t offset, Value& value) const noexcept {
    return ::pread(fd_, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
  }

 private:
  int fd_;
};

bool read_section(const File& file, const Elf64_Ehdr& header, std::uint64_t index,
                  Elf64_Shdr& section) noexcept {
  return index < header.e_shnum && file.read(header.e_shoff + index * sizeof section, section);
}

bool find_symbol_table(const File& file, Elf64_Shdr& symbols, Elf64_Shdr& names) noexcept {
  Elf64_Ehdr header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof symbols) return false;
  for (std::uint64_t index = 0; index < header.e_shnum && index < kMaxSections; ++index) {
    if (!read_section(file, header, index, symbols)) return false;
    if (symbols.sh_type != SHT_SYMTAB) continue;
    return symbols.sh_entsize == sizeof(Elf64_Sym) &&
           read_section(file, header, symbols.sh_link, names);
  }
  return false;
}

bool is_named(const File& file, const Elf64_Shdr& names, const Elf64_Sym& symbol,
              std::string_view name) noexcept {
  char text[64];
  if (name.size() >= sizeof text || !file.read(names.sh_offset + symbol.st_name, text))
    return false;
  return std::memcmp(text, name.data(), name.size()) == 0 && text[name.size()] == '\0';
}

}  // namespace

std::uint64_t find_object_in_file(const char* path, std::string_view name,
                                  std::uint64_t size) noexcept {
  constexpr std::uint64_t kMaxSymbols = 100'000;  // libpthread 2.31 has 740
  const File file(path);
  Elf64_Shdr symbols;
  Elf64_Shdr names;
  if (!find_symbol_table(file, symbols, names)) return 0;
  Elf64_Sym chunk[32];
  const std::uint64_t count = symbols.sh_size / sizeof chunk[0];
  for (std::uint64_t first = 0; first < count && first < kMaxSymbols; first += std::size(chunk)) {
    // What follows the table in the file is read, too, and ignored.
    if (!file.read(symbols.sh_offset + first * sizeof chunk[0], chunk)) return 0;
    for (std::uint64_t at = 0; at < std::size(chunk) && first + at < count; ++at) {
      const Elf64_Sym& symbol = chunk[at];
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size == size &&
          is_named(file, names, symbol, name)) {
        return symbol.st_value;
      }
    }
  }
  return 0;
}

}  // namespace swipr::agent
