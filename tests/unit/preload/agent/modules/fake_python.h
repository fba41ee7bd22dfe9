// An image in memory that exports what CPython is recognised by.
#pragma once

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/range.h"
#include "preload/runtimes/python/python_layout.h"

namespace swipr::agent {

// Its addresses are those of this object, which must not move.
class FakePython {
 public:
  explicit FakePython(unsigned minor, unsigned micro = 2)
      : version_(3u << 24 | minor << 16 | micro << 8) {
    if (const auto* const layout = runtimes::find_python_layout(minor); layout != nullptr) {
      add_member("co_name", layout->code_name);
      add_member("co_filename", layout->code_file);
      add_member("co_firstlineno", layout->code_first_line);
      add_member("co_consts", layout->code_constants);
      add_member("co_qualname", layout->code_qualified_name);
    }
    members_.resize(members_.size() + kMemberWords);  // the end of the list
    constexpr std::size_t kTypeMembers = 240 / 8;
    code_type_[kTypeMembers] = address_of(members_.data());
    symbols_.emplace_back();  // the first is none
    add_symbol("_PyRuntime", &runtime_);
    add_symbol("Py_Version", &version_);
    add_symbol("PyCode_Type", code_type_.data());
    finish();
  }
  // An image that is no interpreter.
  FakePython() {
    symbols_.emplace_back();
    add_symbol("main", &runtime_);
    finish();
  }
  FakePython(const FakePython&) = delete;
  FakePython& operator=(const FakePython&) = delete;

  Range<std::uint64_t> dynamic() const {
    const std::uint64_t begin = address_of(dynamic_.data());
    return {begin, begin + sizeof dynamic_};
  }
  std::uint64_t header() const { return address_of(this); }
  std::uint64_t runtime() const { return address_of(&runtime_); }

 private:
  static constexpr std::size_t kMemberWords = 5;

  static std::uint64_t address_of(const void* place) {
    return reinterpret_cast<std::uint64_t>(place);
  }
  void add_member(std::string_view name, std::uint64_t offset) {
    texts_.emplace_back(name);
    const std::array<std::uint64_t, kMemberWords> member = {address_of(texts_.back().c_str()), 0,
                                                            offset};
    members_.insert(members_.end(), member.begin(), member.end());
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

  std::uint64_t runtime_ = 0;
  std::uint32_t version_ = 0;
  std::array<std::uint64_t, 64> code_type_{};
  std::vector<std::uint64_t> members_;
  std::deque<std::string> texts_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
  std::vector<std::uint32_t> chains_;
  std::vector<std::uint32_t> hash_;
  std::array<Elf64_Dyn, 4> dynamic_{};
};

}  // namespace swipr::agent
