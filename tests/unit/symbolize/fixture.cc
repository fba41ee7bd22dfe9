#include "tests/unit/symbolize/fixture.h"

#include <gelf.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize::test {
namespace {

ElfFile open_or_die(const std::string& path) {
  auto file = ElfFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.error().message();
    std::abort();
  }
  return std::move(*file);
}

void for_each_symbol(const ElfFile& file,
                     const std::function<void(const GElf_Sym&, std::string_view)>& visit) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(file.elf(), section)) != nullptr) {
    GElf_Shdr header;
    gelf_getshdr(section, &header);
    if (header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (std::size_t index = 0; index < header.sh_size / header.sh_entsize; ++index) {
      GElf_Sym symbol;
      gelf_getsym(data, static_cast<int>(index), &symbol);
      visit(symbol, elf_strptr(file.elf(), header.sh_link, symbol.st_name));
    }
  }
}

// Fixtures have one executable segment.
std::uint64_t file_offset(const ElfFile& file, std::uint64_t address) {
  std::size_t count = 0;
  elf_getphdrnum(file.elf(), &count);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Phdr segment;
    gelf_getphdr(file.elf(), static_cast<int>(index), &segment);
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return 0;
}

}  // namespace

std::string fixture(std::string_view name) { return std::string(SWIPR_FIXTURES "/").append(name); }

std::string build_id_of(const std::string& path) { return open_or_die(path).build_id(); }

ImageAddr address_of(const std::string& path, std::string_view symbol) {
  std::uint64_t address = 0;
  for_each_symbol(open_or_die(path), [&](const GElf_Sym& candidate, std::string_view name) {
    if (name == symbol) address = candidate.st_value;
  });
  EXPECT_NE(address, 0u) << symbol << " is not in " << path;
  return {address};
}

FileOffset offset_of(const std::string& path, std::string_view symbol) {
  return {file_offset(open_or_die(path), address_of(path, symbol).value)};
}

std::vector<FileOffset> function_bytes(const std::string& path) {
  const ElfFile file = open_or_die(path);
  std::vector<FileOffset> offsets;
  for_each_symbol(file, [&](const GElf_Sym& symbol, std::string_view) {
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    for (std::uint64_t byte = 0; byte < symbol.st_size; ++byte) {
      offsets.push_back({file_offset(file, symbol.st_value + byte)});
    }
  });
  return offsets;
}

std::uint32_t line_of(std::string_view source, std::string_view mark) {
  std::ifstream file(std::string(SWIPR_FIXTURE_SOURCES "/").append(source));
  const std::string wanted = "// at: " + std::string(mark);
  std::string line;
  for (std::uint32_t number = 1; std::getline(file, line); ++number) {
    if (line.ends_with(wanted)) return number;
  }
  ADD_FAILURE() << wanted << " is not in " << source;
  return 0;
}

std::vector<std::string> names(const std::vector<SourceFunction>& functions) {
  std::vector<std::string> result;
  for (const SourceFunction& function : functions) result.emplace_back(function.name);
  return result;
}

std::string TemporaryFolder::copy(const std::string& file, std::string_view name) const {
  const std::filesystem::path target = path(name);
  std::filesystem::create_directories(target.parent_path());
  std::filesystem::copy_file(file, target, std::filesystem::copy_options::overwrite_existing);
  return target.string();
}

void TemporaryFolder::add_by_build_id(const std::string& file, std::string_view suffix) const {
  const std::string id = build_id_of(file);
  copy(file, ".build-id/" + id.substr(0, 2) + "/" + id.substr(2) + std::string(suffix));
}

}  // namespace swipr::symbolize::test
