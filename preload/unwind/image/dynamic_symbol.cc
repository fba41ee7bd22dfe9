#include "preload/unwind/image/dynamic_symbol.h"

#include <elf.h>

#include <algorithm>
#include <array>

namespace swipr::unwind {
namespace {

constexpr std::size_t kMaxDynamicEntries = 64;  // real images have about thirty
constexpr unsigned kMaxChain = 64;              // symbols in one bucket; linkers aim at two or four
constexpr std::size_t kMaxName = 128;

struct HashHeader {
  std::uint32_t bucket_count;
  std::uint32_t first_symbol;  // those below are imports
  std::uint32_t bloom_words;
  std::uint32_t bloom_shift;
};

class ExportedSymbols {
 public:
  ExportedSymbols(std::uint64_t load_bias, ImageReader reader) noexcept
      : load_bias_(load_bias), reader_(reader) {}

  bool open(Range<std::uint64_t> dynamic) noexcept {
    std::array<Elf64_Dyn, kMaxDynamicEntries> entries{};  // a zero is DT_NULL
    const std::uint64_t bytes =
        std::min<std::uint64_t>(dynamic.end - dynamic.begin, sizeof entries);
    const auto all = std::as_writable_bytes(std::span(entries));
    if (dynamic.empty() || !reader_.read(reader_.state, dynamic.begin, all.first(bytes))) {
      return false;
    }
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_GNU_HASH) hash_ = address_of(entry);
      if (entry.d_tag == DT_HASH) old_hash_ = address_of(entry);
      if (entry.d_tag == DT_SYMTAB) symbols_ = address_of(entry);
      if (entry.d_tag == DT_STRTAB) strings_ = address_of(entry);
    }
    if (symbols_ == 0 || strings_ == 0) return false;
    if (hash_ == 0) {
      return old_hash_ != 0 && reader_.read_value(old_hash_, old_bucket_count_) &&
             old_bucket_count_ != 0;
    }
    return reader_.read_value(hash_, header_) && header_.bucket_count != 0 &&
           header_.bloom_words != 0;
  }

  bool for_each_function(FunctionSink sink) const noexcept {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
    if (symbols_ >= strings_ || strings_ - symbols_ > kMostBytes) return false;
    bool found = false;
    std::array<Elf64_Sym, 64> piece;
    const std::uint64_t count = (strings_ - symbols_) / sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < count; at += piece.size()) {
      const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), count - at));
      const std::uint64_t address = symbols_ + at * sizeof(Elf64_Sym);
      if (!reader_.read(reader_.state, address, std::as_writable_bytes(part))) return false;
      for (const Elf64_Sym& symbol : part) {
        const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
        if (!is_function || symbol.st_shndx == SHN_UNDEF) continue;
        sink.add(sink.state, {symbol.st_value, symbol.st_value + symbol.st_size});
        found = true;
      }
    }
    return found;
  }

  // begin 0: not found.
  Range<std::uint64_t> find(std::string_view name) const noexcept {
    if (hash_ == 0) return find_by_old_hash(name);
    const std::uint32_t hash = hash_of(name);
    if (!may_have(hash)) return {};
    const std::uint64_t buckets = bloom() + header_.bloom_words * std::uint64_t{8};
    const std::uint64_t chains = buckets + header_.bucket_count * std::uint64_t{4};
    std::uint32_t index = 0;
    if (!reader_.read_value(buckets + hash % header_.bucket_count * std::uint64_t{4}, index))
      return {};
    if (index < header_.first_symbol) return {};
    for (unsigned step = 0; step < kMaxChain; ++step, ++index) {
      std::uint32_t candidate = 0;
      if (!reader_.read_value(chains + (index - header_.first_symbol) * std::uint64_t{4},
                              candidate))
        return {};
      if ((candidate | 1) == (hash | 1)) {
        if (const auto found = value_of(index, name); found.begin != 0) return found;
      }
      if ((candidate & 1) != 0) return {};  // the last of its bucket
    }
    return {};
  }

 private:
  // glibc adds the load bias in place if the section is writable; the vDSO and other loaders keep
  // image addresses.
  std::uint64_t address_of(const Elf64_Dyn& entry) const noexcept {
    return entry.d_un.d_ptr < load_bias_ ? entry.d_un.d_ptr + load_bias_ : entry.d_un.d_ptr;
  }
  std::uint64_t bloom() const noexcept { return hash_ + sizeof header_; }

  // DT_HASH, of linkers that were told so (libjvm of JDK 11): the numbers of buckets and symbols,
  // the first symbol of each bucket, the next one after each symbol.
  // Source: System V ABI, chapter 5, hash table.
  Range<std::uint64_t> find_by_old_hash(std::string_view name) const noexcept {
    const std::uint64_t buckets = old_hash_ + 8;
    const std::uint64_t chains = buckets + old_bucket_count_ * std::uint64_t{4};
    std::uint64_t at = buckets + old_hash_of(name) % old_bucket_count_ * std::uint64_t{4};
    for (unsigned step = 0; step < kMaxChain; ++step) {
      std::uint32_t index = 0;
      if (!reader_.read_value(at, index) || index == 0) return {};
      if (const auto found = value_of(index, name); found.begin != 0) return found;
      at = chains + index * std::uint64_t{4};
    }
    return {};
  }
  static std::uint32_t old_hash_of(std::string_view name) noexcept {
    std::uint32_t hash = 0;
    for (const char c : name) {
      hash = (hash << 4) + static_cast<unsigned char>(c);
      const std::uint32_t high = hash & 0xf0000000;
      hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
  }

  static std::uint32_t hash_of(std::string_view name) noexcept {
    std::uint32_t hash = 5381;
    for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
    return hash;
  }

  bool may_have(std::uint32_t hash) const noexcept {
    std::uint64_t word = 0;
    const std::uint64_t at = hash / 64 % header_.bloom_words;
    const std::uint64_t bits = std::uint64_t{1} << hash % 64 |
                               std::uint64_t{1} << (hash >> (header_.bloom_shift & 31)) % 64;
    return reader_.read_value(bloom() + at * 8, word) && (word & bits) == bits;
  }

  // begin 0: another symbol, or one that is not defined here.
  Range<std::uint64_t> value_of(std::uint32_t index, std::string_view name) const noexcept {
    Elf64_Sym symbol;
    std::array<char, kMaxName> text{};
    if (name.size() >= text.size() || !reader_.read_value(symbols_ + index * sizeof symbol, symbol))
      return {};
    const auto bytes = std::as_writable_bytes(std::span(text)).first(name.size() + 1);
    if (!reader_.read(reader_.state, strings_ + symbol.st_name, bytes)) return {};
    const bool same = std::string_view(text.data(), name.size()) == name && text[name.size()] == 0;
    if (!same || symbol.st_shndx == SHN_UNDEF) return {};
    const std::uint64_t begin = load_bias_ + symbol.st_value;
    return {begin, begin + symbol.st_size};
  }

  std::uint64_t load_bias_;
  ImageReader reader_;
  HashHeader header_{};
  std::uint64_t hash_ = 0;
  std::uint64_t old_hash_ = 0;
  std::uint32_t old_bucket_count_ = 0;
  std::uint64_t symbols_ = 0;
  std::uint64_t strings_ = 0;
};

}  // namespace

std::uint64_t find_exported(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                            std::string_view name, ImageReader reader) noexcept {
  return find_exported_range(dynamic, load_bias, name, reader).begin;
}

bool for_each_function(Range<std::uint64_t> dynamic, std::uint64_t load_bias, ImageReader reader,
                       FunctionSink sink) noexcept {
  ExportedSymbols symbols(load_bias, reader);
  return symbols.open(dynamic) && symbols.for_each_function(sink);
}

Range<std::uint64_t> find_exported_range(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                                         std::string_view name, ImageReader reader) noexcept {
  ExportedSymbols symbols(load_bias, reader);
  return symbols.open(dynamic) ? symbols.find(name) : Range<std::uint64_t>{};
}

}  // namespace swipr::unwind
