#include "preload/runtimes/php/php_layout.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

constexpr std::array kPhpLayouts = {
    PhpLayout{20190902, 7, 4, 60, 64, 136}, PhpLayout{20200930, 8, 0, 68, 72, 144},
    PhpLayout{20210902, 8, 1, 68, 72, 144}, PhpLayout{20220829, 8, 2, 80, 88, 152},
    PhpLayout{20230831, 8, 3, 76, 80, 144}, PhpLayout{20240924, 8, 4, 96, 104, 168},
};
constexpr std::uint64_t kCurrentFrame = 488;  // zend_executor_globals.current_execute_data

constexpr std::uint64_t kMaxConstants = 32 << 20;
constexpr unsigned kMaxSegments = 16;

// PHP compares the text "API20220829,NTS" with that of each module that it loads.
class BuildText {
 public:
  explicit BuildText(unwind::ImageReader reader) noexcept : reader_(reader) {}

  // Through the table of modules, whose first one is PHP itself. False: it is not filled yet.
  bool find_registered(std::uint64_t table) noexcept {
    constexpr std::uint64_t kBuckets = 16;  // HashTable.arData; its buckets begin with the value
    constexpr std::uint64_t kTextOfModule = 8;  // zend_module_entry.build_id, the last field
    constexpr std::uint16_t kMaxModule = 512;
    std::uint64_t bucket = 0;
    std::uint64_t module = 0;
    std::uint16_t size = 0;  // its first field
    std::uint64_t address = 0;
    std::array<char, kMaxText> text{};
    return table != 0 && reader_.read_value(table + kBuckets, bucket) &&
           reader_.read_value(bucket, module) && reader_.read_value(module, size) &&
           size >= kTextOfModule && size <= kMaxModule &&
           reader_.read_value(module + size - kTextOfModule, address) &&
           reader_.read_value(address, text) && is_build(text);
  }
  // False: the image has none.
  bool find(std::uint64_t header, std::uint64_t load_bias) noexcept {
    Elf64_Ehdr elf{};
    if (!reader_.read_value(header, elf) || elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
    const unsigned count = std::min<unsigned>(elf.e_phnum, kMaxSegments);
    for (unsigned at = 0; at < count; ++at) {
      Elf64_Phdr segment{};
      if (!reader_.read_value(header + elf.e_phoff + at * sizeof segment, segment)) return false;
      const bool is_constant = segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0;
      if (is_constant && find_in(load_bias + segment.p_vaddr, segment.p_filesz)) return true;
    }
    return false;
  }
  std::uint32_t api() const noexcept { return api_; }
  std::string_view build() const noexcept { return {build_.data(), build_size_}; }

 private:
  static constexpr std::string_view kBegin = "API";
  static constexpr std::size_t kDigits = 8;
  static constexpr std::size_t kMaxText = 32;
  static constexpr std::size_t kPieceBytes = 2048;

  bool find_in(std::uint64_t address, std::uint64_t bytes) noexcept {
    std::array<char, kPieceBytes> piece{};
    const std::uint64_t end = address + std::min(bytes, kMaxConstants);
    while (address + kMaxText <= end) {
      const std::size_t size = std::min<std::uint64_t>(end - address, kPieceBytes);
      const std::span text = std::span(piece).first(size);
      if (!reader_.read(reader_.state, address, std::as_writable_bytes(text))) return false;
      if (find_in_piece(text)) return true;
      address += size - kMaxText + 1;
    }
    return false;
  }
  bool find_in_piece(std::span<const char> piece) noexcept {
    for (std::size_t at = 0; at + kMaxText <= piece.size(); ++at) {
      if (piece[at] == kBegin[0] && is_build(piece.subspan(at, kMaxText))) return true;
    }
    return false;
  }
  bool is_build(std::span<const char> text) noexcept {
    constexpr std::size_t kComma = kBegin.size() + kDigits;
    if (std::string_view(text.data(), kBegin.size()) != kBegin || text[kComma] != ',') return false;
    api_ = 0;
    for (const char c : text.subspan(kBegin.size(), kDigits)) {
      if (c < '0' || c > '9') return false;
      api_ = api_ * 10 + static_cast<std::uint32_t>(c - '0');
    }
    const auto build = text.subspan(kComma + 1);
    build_size_ =
        static_cast<std::size_t>(std::find(build.begin(), build.end(), '\0') - build.begin());
    std::copy_n(build.begin(), build_size_, build_.begin());
    return true;
  }

  unwind::ImageReader reader_;
  std::uint32_t api_ = 0;
  std::array<char, kMaxText> build_{};
  std::size_t build_size_ = 0;
};

}  // namespace

const PhpLayout* find_php_layout(std::uint32_t api) noexcept {
  for (const PhpLayout& layout : kPhpLayouts) {
    if (layout.api == api) return &layout;
  }
  return nullptr;
}

PhpDetection detect_php(std::uint64_t header, Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                        unwind::ImageReader reader) noexcept {
  PhpDetection found;
  const Range<std::uint64_t> loop =
      unwind::find_exported_range(dynamic, load_bias, "execute_ex", reader);
  if (loop.begin == 0) return found;
  const auto find = [&](std::string_view name) {
    return unwind::find_exported(dynamic, load_bias, name, reader);
  };
  const std::uint64_t globals = find("executor_globals");
  if (globals == 0 && find("executor_globals_id") == 0) return found;
  found.state = DetectionState::kRefused;
  found.reason = "unsupported version; 7.4 to 8.4 are";
  BuildText text(reader);
  // The constants of PHP are megabytes.
  if (!text.find_registered(find("module_registry")) && !text.find(header, load_bias)) return found;
  const PhpLayout* const layout = find_php_layout(text.api());
  if (layout == nullptr) return found;
  found.runtime = {.layout = *layout, .current_frame = globals + kCurrentFrame, .loop = loop};
  if (globals == 0 || text.build().starts_with("TS")) {
    found.reason = "thread-safe build (ZTS)";
  } else if (text.build() != "NTS") {
    found.reason = "debug build";
  } else {
    found.state = DetectionState::kFound;
    found.reason = nullptr;
  }
  return found;
}

}  // namespace swipr::runtimes
