#include "preload/unwind/table_builder.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "preload/unwind/cfi_program.h"
#include "preload/unwind/cfi_rows.h"
#include "preload/unwind/cfi_section.h"
#include "preload/unwind/elf_image.h"
#include "preload/unwind/growable_array.h"
#include "preload/unwind/row_writer.h"
#include "preload/unwind/rule_maker.h"
#include "preload/unwind/rule_set.h"
#include "preload/unwind/table_packer.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kMaxSectionBytes = 256 << 20;
constexpr std::uint64_t kMaxCoveredBytes = UINT32_MAX;  // rows count from the base in 32 bits
constexpr std::size_t kPieceBytes = 256 << 10;          // most libraries need one or two reads
constexpr std::size_t kEntryHeadBytes = 12;             // the longest length field

// Reads [section.begin, its terminator or section.end) into `out`.
BuildStatus copy_section(Range<std::uint64_t> section, std::uint64_t load_bias, ImageReader reader,
                         GrowableArray<std::byte>& out) noexcept {
  const std::uint64_t limit = section.end - section.begin;
  std::uint64_t next = 0;  // offset of the first entry whose length has not been looked at
  while (out.size() < limit) {
    const std::size_t done = out.size();
    if (done > kMaxSectionBytes) return BuildStatus::kTooLarge;
    const std::size_t piece = std::min<std::uint64_t>(kPieceBytes, limit - done);
    if (!out.resize(done + piece)) return BuildStatus::kNoMemory;
    const std::uint64_t address = load_bias + section.begin + done;
    if (!reader.read(reader.state, address, out.span().subspan(done))) {
      return BuildStatus::kUnreadable;
    }
    while (next + kEntryHeadBytes <= out.size() || (out.size() == limit && next < limit)) {
      const std::uint64_t bytes = CfiSection::entry_bytes(out.span(), next);
      if (bytes == 0 || bytes > limit - next) {
        out.truncate(next);
        return BuildStatus::kOk;
      }
      next += bytes;
    }
  }
  return BuildStatus::kOk;
}

// Where an FDE's code begins, counted from the image's text, and above the offset of the entry: one
// number, so that sorting moves little.
class FdeIndex {
 public:
  FdeIndex(std::uint64_t start, CfiFormat section, std::size_t offset) noexcept
      : bits_(start << 32 | static_cast<std::uint64_t>(section) << kOffsetBits | offset) {}
  std::uint64_t start() const noexcept { return bits_ >> 32; }
  CfiFormat section() const noexcept { return static_cast<CfiFormat>(bits_ >> kOffsetBits & 1); }
  std::size_t offset() const noexcept { return bits_ & ((1u << kOffsetBits) - 1); }
  friend auto operator<=>(FdeIndex, FdeIndex) noexcept = default;

 private:
  static constexpr unsigned kOffsetBits = 31;
  static_assert(kMaxSectionBytes < std::uint64_t{1} << kOffsetBits);
  std::uint64_t bits_;
};

// By start, and those with the same start by offset, which is how they come. Linkers leave runs of
// sorted FDEs, one per section of each input file, that quicksort cannot make use of: 100,000 take
// it 7 ms, this 1 ms. False: no memory.
bool sort_by_start(std::span<FdeIndex> fdes) noexcept {
  if (std::is_sorted(fdes.begin(), fdes.end())) return true;
  constexpr unsigned kDigitBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  GrowableArray<FdeIndex> memory;
  if (!memory.resize(fdes.size())) return false;
  std::span<FdeIndex> from = fdes;
  std::span<FdeIndex> to = memory.span();
  for (unsigned shift = 0; shift < 32; shift += kDigitBits) {
    std::array<std::uint32_t, kDigits> next{};
    const auto digit = [shift](FdeIndex fde) { return fde.start() >> shift & (kDigits - 1); };
    for (const FdeIndex fde : from) ++next[digit(fde)];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : next) sum += std::exchange(count, sum);
    for (const FdeIndex fde : from) to[next[digit(fde)]++] = fde;
    std::swap(from, to);
  }
  // Three rounds: the result is in the other memory.
  std::copy(from.begin(), from.end(), fdes.begin());
  return true;
}

class CfiCompiler {
 public:
  CfiCompiler(const CfiSection& eh_frame, const CfiSection& debug_frame,
              Range<std::uint64_t> text) noexcept
      : sections_{&eh_frame, &debug_frame},
        text_(text),
        budget_(kBudgetPerByte * (eh_frame.bytes().size() + debug_frame.bytes().size())) {}

  BuildStatus run(const UnwindTable*& table) noexcept {
    if (text_.end - text_.begin > kMaxCoveredBytes) return BuildStatus::kTooLarge;
    if (!rules_.prepare() || !collect(CfiFormat::kEhFrame) || !collect(CfiFormat::kDebugFrame)) {
      return BuildStatus::kNoMemory;
    }
    if (fdes_.empty()) return BuildStatus::kNoCfi;
    if (!sort_by_start(fdes_.span())) return BuildStatus::kNoMemory;
    RowWriter rows(text_.begin + fdes_[0].start());
    for (const FdeIndex fde : fdes_.span()) {
      if (!compile(fde, rows)) return BuildStatus::kNoMemory;
    }
    table = pack_table(rows, rules_);
    return table != nullptr ? BuildStatus::kOk : BuildStatus::kNoMemory;
  }

 private:
  // Bytes of instructions that are run, for each byte of the section: a CIE's run again only when
  // the cache lost it.
  static constexpr std::uint64_t kBudgetPerByte = 8;

  bool spend(std::span<const std::byte> instructions) noexcept {
    if (instructions.size() > budget_) return false;
    budget_ -= instructions.size();
    return true;
  }

  // A CIE and what its instructions set up.
  struct CachedCie {
    std::size_t offset = SIZE_MAX;
    CfiFormat format = CfiFormat::kEhFrame;
    std::optional<Cie> cie;
    CfiState state;
  };

  const CfiSection& section(CfiFormat format) const noexcept {
    return *sections_[static_cast<std::size_t>(format)];
  }

  const CachedCie& load_cie(CfiFormat format, std::size_t offset) noexcept {
    CachedCie& cached = cies_[offset / 8 % cies_.size()];
    if (cached.offset == offset && cached.format == format) return cached;
    cached.offset = offset;
    cached.format = format;
    cached.cie = std::nullopt;
    const std::optional<CfiEntry> entry = section(format).parse_entry(offset);
    if (entry && entry->is_cie) cached.cie = section(format).parse_cie(*entry);
    if (cached.cie &&
        (!spend(cached.cie->instructions) ||
         !CfiProgram::run_initial(section(format), *cached.cie, remembered_, cached.state))) {
      cached.cie = std::nullopt;
    }
    return cached;
  }

  // False: no memory. Stops at the first bytes that are no entry; FDEs that make no sense are left
  // out.
  bool collect(CfiFormat format) noexcept {
    const CfiSection& from = section(format);
    std::optional<CfiEntry> entry = from.parse_entry(0);
    for (; entry; entry = from.parse_entry(entry->end)) {
      if (entry->is_cie) continue;
      const CachedCie& cached = load_cie(format, entry->cie);
      if (!cached.cie) continue;
      const std::optional<Fde> fde = from.parse_fde(*entry, *cached.cie);
      if (!fde || fde->code.empty() || fde->code.begin < text_.begin || fde->code.end > text_.end) {
        continue;
      }
      if (!fdes_.push_back({fde->code.begin - text_.begin, format, entry->offset})) return false;
    }
    return true;
  }

  // What CfiRows hands out, for one FDE.
  struct Rows {
    bool add_plain(std::uint64_t start, std::uint64_t cfa_word, std::uint64_t saved_word) noexcept {
      return add(start, rules.intern_plain(cfa_word, saved_word));
    }
    bool add_other(std::uint64_t start, const CfiState& state) noexcept {
      return add(start, make_other_rule(state, section, signal_frame, rules));
    }
    bool add_none(std::uint64_t start) noexcept { return add(start, RuleSet::kNone); }
    bool add(std::uint64_t start, std::uint32_t rule) noexcept {
      if (rule == RuleSet::kNoMemory) return false;
      writer.add(start, static_cast<std::uint16_t>(rule));
      return true;
    }

    const CfiSection& section;
    RuleSet& rules;
    RowWriter& writer;
    bool signal_frame;
  };

  // False: no memory. Code behind a damaged instruction gets no rule.
  bool compile(FdeIndex index, RowWriter& writer) noexcept {
    const CfiSection& from = section(index.section());
    const std::optional<CfiEntry> entry = from.parse_entry(index.offset());
    const CachedCie& cached = load_cie(index.section(), entry->cie);
    const std::optional<Fde> fde = cached.cie ? from.parse_fde(*entry, *cached.cie) : std::nullopt;
    if (!fde) return true;
    // A row takes a byte of code and one of instructions.
    const std::uint64_t max_rows =
        std::min<std::uint64_t>(fde->code.end - fde->code.begin, fde->instructions.size()) + 1;
    if (!writer.begin_fde(fde->code.begin, static_cast<std::size_t>(max_rows))) return false;
    Rows rows{from, rules_, writer, cached.cie->signal_frame};
    bool ok = true;
    if (spend(fde->instructions)) {
      CfiProgram program(from, *cached.cie, cached.state, *fde, remembered_);
      ok = CfiRows<Rows>(program, *fde, rows).run();
    } else {
      ok = rows.add_none(fde->code.begin);
    }
    writer.end_fde(fde->code.end);
    return ok;
  }

  std::array<const CfiSection*, 2> sections_;  // by format
  Range<std::uint64_t> text_;
  std::uint64_t budget_;
  std::array<CachedCie, 16> cies_{};  // a library has two or three
  RememberedStates remembered_;
  GrowableArray<FdeIndex> fdes_;
  RuleSet rules_;
};

}  // namespace

BuildResult build_table(std::uint64_t elf_header, ImageReader reader,
                        const DebugFrame& debug_frame) noexcept {
  BuildResult result;
  ElfImage image;
  result.status = read_elf_image(elf_header, reader, image);
  result.load_bias = image.load_bias;
  result.build_id_bytes = image.build_id_bytes;
  std::memcpy(result.build_id, image.build_id, image.build_id_bytes);
  const bool has_eh_frame = result.status == BuildStatus::kOk;
  if (!has_eh_frame && debug_frame.bytes == 0) return result;
  GrowableArray<std::byte> eh_bytes;
  GrowableArray<std::byte> debug_bytes;
  if (has_eh_frame) {
    result.status = copy_section(image.eh_frame, image.load_bias, reader, eh_bytes);
    if (result.status != BuildStatus::kOk) return result;
  }
  result.eh_frame_bytes = eh_bytes.size();
  if (debug_frame.bytes != 0) {
    result.status = copy_section({0, debug_frame.bytes}, 0, debug_frame.reader, debug_bytes);
    if (result.status != BuildStatus::kOk) return result;
  }
  const CfiSection eh_frame(eh_bytes.span(), image.eh_frame.begin, image.load_bias);
  // Addresses in a file are as they were linked.
  const CfiSection debug(debug_bytes.span(), 0, 0, CfiFormat::kDebugFrame);
  result.status = CfiCompiler(eh_frame, debug, image.text).run(result.table);
  return result;
}

void destroy_table(const UnwindTable* table) noexcept {
  if (table == nullptr) return;
  const auto mappings = table->mappings;  // the table itself lies in one
  for (const Mapping mapping : mappings) ::munmap(mapping.memory, mapping.bytes);
}

std::size_t table_memory_bytes(const UnwindTable* table) noexcept {
  std::size_t sum = 0;
  if (table == nullptr) return sum;
  for (const Mapping mapping : table->mappings) sum += mapping.bytes;
  return sum;
}

}  // namespace swipr::unwind
