#include "tests/unit/preload/trace/file_functions.h"

#include <algorithm>
#include <filesystem>

#include "preload/unwind/cfi/cfi_section.h"
#include "preload/unwind/image/elf_image.h"
#include "tests/unit/preload/trace/machine.h"

namespace swipr::trace {

FileFunctions::FileFunctions(const std::string& path) : file_(path) {
  if (!file_.is_open()) return;
  unwind::ElfImage image;
  unwind::read_elf_image(file_.elf_header(), file_.reader(), image);
  text_begin_ = image.text.begin + image.load_bias;
  text_.resize(image.text.end - image.text.begin);
  for (std::size_t at = 0; at < text_.size(); at += 4096) {
    const auto piece = std::span(text_).subspan(at, std::min<std::size_t>(4096, text_.size() - at));
    file_.reader().read(&file_, text_begin_ + at, std::as_writable_bytes(piece));
  }
  std::vector<std::byte> section(file_.section_bytes(".eh_frame"));
  file_.reader().read(&file_, image.eh_frame.begin + image.load_bias, section);
  read_functions(section, image.eh_frame.begin, image.load_bias);
}

void FileFunctions::read_functions(std::span<const std::byte> section, std::uint64_t address,
                                   std::uint64_t load_bias) {
  const unwind::CfiSection cfi(section, address, load_bias);
  for (auto entry = cfi.parse_entry(0); entry; entry = cfi.parse_entry(entry->end)) {
    if (entry->is_cie) continue;
    const auto cie_entry = cfi.parse_entry(entry->cie);
    const auto cie = cie_entry ? cfi.parse_cie(*cie_entry) : std::nullopt;
    const auto fde = cie ? cfi.parse_fde(*entry, *cie) : std::nullopt;
    if (!fde || cie->signal_frame) continue;
    const std::uint64_t begin = fde->code.begin + load_bias;
    const std::uint64_t size = fde->code.end - fde->code.begin;
    if (begin < text_begin_ || begin - text_begin_ + size > text_.size()) continue;
    functions_.push_back({begin, std::span(text_).subspan(begin - text_begin_, size)});
  }
  std::ranges::sort(functions_, {}, &Function::address);
}

std::vector<std::string> libraries(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const char* const folder : kLibraryFolders) {
    for (const std::string& name : names) {
      const std::filesystem::path path = std::filesystem::path(folder) / name;
      if (!std::filesystem::exists(path)) continue;
      const std::string real = std::filesystem::canonical(path).string();
      if (std::ranges::find(found, real) == found.end()) found.push_back(real);
    }
  }
  return found;
}

}  // namespace swipr::trace
