// An ELF image whose sections refer to external bytes, for libraries that accept only ELF.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace swipr::symbolize {

class SectionImage {
 public:
  struct Section {
    std::string_view name;
    std::span<const std::byte> bytes;  // empty: left out
  };
  // Lifetime: that of the bytes of the sections, which are not copied.
  explicit SectionImage(std::span<const Section> sections);

  Elf* elf() const { return elf_.get(); }  // null: out of memory

 private:
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  std::vector<char> bytes_;
  std::unique_ptr<Elf, EndElf> elf_;
};

}  // namespace swipr::symbolize
