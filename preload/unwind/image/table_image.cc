#include "preload/unwind/image/table_image.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/code_hash.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/table/table_packer.h"

namespace swipr::unwind {
namespace {

constexpr std::array<char, 8> kMagic{'S', 'W', 'I', 'P', 'R', 'T', 'B', 'L'};
constexpr std::uint32_t kVersion = 2;  // of the format, and of what is in a table
constexpr std::uint64_t kMaxCoveredBytes = UINT32_MAX;
static_assert(sizeof(UnwindTable) <= kTableImageAt);

template <typename T>
std::span<const std::byte> bytes_of(const T* values, std::uint64_t count) noexcept {
  return std::as_bytes(std::span<const T>(values, static_cast<std::size_t>(count)));
}

using Parts = std::array<std::span<const std::byte>, kTablePartCount>;

// In descending order of alignment, so that none needs padding.
Parts parts_of(const UnwindTable& table) noexcept {
  return {bytes_of(table.page_rows, table.page_count()),
          bytes_of(table.row_addresses, table.row_count),
          bytes_of(table.function_starts, table.function_count),
          bytes_of(table.rules, table.rule_count),
          bytes_of(table.locations, table.location_count),
          bytes_of(table.row_rules, table.row_count),
          bytes_of(table.pool, table.pool_bytes)};
}
static_assert(alignof(Rule) == 4 && alignof(Location) == 4);

std::uint64_t checksum_of(const Parts& parts) noexcept {
  std::uint64_t hash = 0;
  for (const auto part : parts) hash = hash_bytes(part, hash);
  return hash;
}

// Returns the parts that follow the header, in order; nothing past the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}
  template <typename T>
  const T* take(std::uint64_t count) noexcept {
    if (is_short_ || count > rest_.size() / sizeof(T)) {
      is_short_ = true;
      return nullptr;
    }
    const auto* const values = reinterpret_cast<const T*>(rest_.data());
    rest_ = rest_.subspan(static_cast<std::size_t>(count) * sizeof(T));
    return values;
  }
  bool is_used_up() const noexcept { return !is_short_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool is_short_ = false;
};

// Whether a walk stays within a table for every address.
class TableCheck {
 public:
  explicit TableCheck(const UnwindTable& table) noexcept : table_(table) {}

  bool is_safe() const noexcept { return has_safe_pages() && has_safe_rows() && has_safe_rules(); }

 private:
  // A search begins at a page's row and ends at the next page's.
  bool has_safe_pages() const noexcept {
    const std::span pages(table_.page_rows, static_cast<std::size_t>(table_.page_count()));
    return std::is_sorted(pages.begin(), pages.end()) && pages.back() < table_.row_count;
  }

  bool has_safe_rows() const noexcept {
    const std::span rules(table_.row_rules, table_.row_count);
    std::uint16_t largest = 0;
    for (const std::uint16_t rule : rules) largest = std::max(largest, rule);
    return largest < table_.rule_count;
  }

  bool has_safe_rules() const noexcept {
    const std::span rules(table_.rules, table_.rule_count);
    const std::span locations(table_.locations, table_.location_count);
    return std::all_of(rules.begin(), rules.end(), [this](const Rule& r) { return is_safe(r); }) &&
           std::all_of(locations.begin(), locations.end(),
                       [this](const Location& each) { return is_safe(each); });
  }

  bool is_safe(const Rule& rule) const noexcept {
    if (rule.flags == 0) {
      return rule.cfa_register == kStackRegister || rule.cfa_register == kFrameRegister ||
             rule.cfa_register == kBaseRegister;
    }
    if ((rule.flags & (kRuleNone | kRuleRoot)) != 0) return true;
    // The CFA's expression, if it is one, and the return address.
    const bool has_expression = (rule.flags & kRuleCfaExpression) != 0;
    return rule.location_count >= (has_expression ? 2 : 1) &&
           rule.first_location <= table_.location_count &&
           rule.location_count <= table_.location_count - rule.first_location &&
           (!has_expression || is_expression(table_.locations[rule.first_location]));
  }

  static bool is_expression(const Location& location) noexcept {
    return location.kind == LocationKind::kExpression ||
           location.kind == LocationKind::kValExpression;
  }

  bool is_safe(const Location& location) const noexcept {
    if (location.reg >= Registers::kCount) return false;
    if (!is_expression(location)) return true;
    return location.value >= 0 && static_cast<std::uint32_t>(location.value) <= table_.pool_bytes &&
           location.expression_bytes <=
               table_.pool_bytes - static_cast<std::uint32_t>(location.value);
  }

  const UnwindTable& table_;
};

bool is_of(const TableHeader& header, const TableKey& key) noexcept {
  return header.magic == kMagic && header.version == kVersion && header.machine == kElfMachine &&
         header.key == key && header.covered_bytes <= kMaxCoveredBytes && header.page_shift < 32 &&
         header.row_count != 0;
}

}  // namespace

TableKey key_of(const BuildResult& image) noexcept {
  TableKey key{.build_id_bytes = image.build_id_bytes,
               .text_begin = image.text.begin,
               .text_end = image.text.end,
               .eh_frame_begin = image.eh_frame.begin,
               .eh_frame_end = image.eh_frame.end};
  std::memcpy(key.build_id.data(), image.build_id, image.build_id_bytes);
  return key;
}

TableImage image_of(const UnwindTable& table, const TableKey& key) noexcept {
  TableImage image;
  image.parts = parts_of(table);
  image.header = {.magic = kMagic,
                  .version = kVersion,
                  .machine = kElfMachine,
                  .key = key,
                  .checksum = checksum_of(image.parts),
                  .base = table.base,
                  .covered_bytes = table.covered_bytes,
                  .page_shift = table.page_shift,
                  .row_count = table.row_count,
                  .rule_count = table.rule_count,
                  .function_count = table.function_count,
                  .location_count = table.location_count,
                  .pool_bytes = table.pool_bytes};
  return image;
}

const UnwindTable* open_table_image(Mapping memory, std::size_t bytes,
                                    const TableKey& key) noexcept {
  auto* const begin = static_cast<std::byte*>(memory.memory);
  TableHeader header;
  if (bytes < sizeof header || bytes > memory.bytes - kTableImageAt) return nullptr;
  std::memcpy(&header, begin + kTableImageAt, sizeof header);
  if (!is_of(header, key)) return nullptr;
  UnwindTable table;
  table.base = header.base;
  table.covered_bytes = header.covered_bytes;
  table.page_shift = header.page_shift;
  table.row_count = header.row_count;
  table.rule_count = header.rule_count;
  table.function_count = header.function_count;
  table.location_count = header.location_count;
  table.pool_bytes = header.pool_bytes;
  Bytes rest({begin + kTableImageAt + sizeof header, bytes - sizeof header});
  table.page_rows = rest.take<std::uint32_t>(table.page_count());
  table.row_addresses = rest.take<std::uint32_t>(table.row_count);
  table.function_starts = rest.take<std::uint32_t>(table.function_count);
  table.rules = rest.take<Rule>(table.rule_count);
  table.locations = rest.take<Location>(table.location_count);
  table.row_rules = rest.take<std::uint16_t>(table.row_count);
  table.pool = rest.take<std::byte>(table.pool_bytes);
  if (!rest.is_used_up() || checksum_of(parts_of(table)) != header.checksum ||
      !TableCheck(table).is_safe()) {
    return nullptr;
  }
  table.mapping = memory;
  auto* const made = new (begin) UnwindTable(table);
  seal(*made);
  return made;
}

}  // namespace swipr::unwind
