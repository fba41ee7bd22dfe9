// An ELF image in memory that exports some variables.
#pragma once

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/range.h"

namespace swipr::agent {

// Its addresses are those of this object, which must not move.
class FakeImage {
 public:
  FakeImage() { symbols_.emplace_back(); }  // the first is none
  FakeImage(const FakeImage&) = delete;
  FakeImage& operator=(const FakeImage&) = delete;

  Range<std::uint64_t> dynamic() const {
    const std::uint64_t begin = address_of(dynamic_.data());
    return {begin, begin + sizeof dynamic_};
  }
  std::uint64_t header() const { return address_of(this); }

 protected:
  static std::uint64_t address_of(const void* place) {
    return reinterpret_cast<std::uint64_t>(place);
  }
  void add_symbol(std::string_view name, const void* place) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names_.size());
    symbol.st_value = address_of(place);
    symbol.st_shndx = 1;
    symbols_.push_back(symbol);
    names_.append(name).push_back('\0');
    std::uint32_t hash = 5381;
    for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
    chains_.push_back(hash & ~1u);
  }
  // A DT_GNU_HASH of one bucket, whose filter lets every name pass.
  void finish() {
    chains_.back() |= 1;
    names_.append(64, '\0');  // the reader compares so many bytes at most
    hash_ = {1, 1, 1, 0, ~0u, ~0u, 1};
    hash_.insert(hash_.end(), chains_.begin(), chains_.end());
    dynamic_ = {{{DT_GNU_HASH, {address_of(hash_.data())}},
                 {DT_SYMTAB, {address_of(symbols_.data())}},
                 {DT_STRTAB, {address_of(names_.data())}},
                 {DT_NULL, {0}}}};
  }

 private:
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
  std::vector<std::uint32_t> chains_;
  std::vector<std::uint32_t> hash_;
  std::array<Elf64_Dyn, 4> dynamic_{};
};

}  // namespace swipr::agent
