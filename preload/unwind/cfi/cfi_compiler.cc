#include "preload/unwind/cfi/cfi_compiler.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/mapped_object.h"
#include "preload/unwind/cfi/cfi_program.h"
#include "preload/unwind/cfi/cfi_rows.h"
#include "preload/unwind/cfi/rule_maker.h"
#include "preload/unwind/table/row_writer.h"
#include "preload/unwind/table/rule_set.h"
#include "preload/unwind/table/table_packer.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kMaxCoveredBytes = UINT32_MAX;  // rows count from the base in 32 bits

// By start; FDEs with the same start keep their order, by offset. Linkers write runs of sorted
// FDEs, one per section of each input file, which do not help quicksort: it takes 7 ms for 100,000,
// this sort 1 ms. False: no memory.
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
  // Three passes: the result is in the other buffer.
  std::copy(from.begin(), from.end(), fdes.begin());
  return true;
}

class CfiCompiler {
 public:
  CfiCompiler(std::span<const PlacedSection> sections, Range<std::uint64_t> text) noexcept
      : sections_(sections), current_(sections.data()), text_(text) {
    for (const PlacedSection& placed : sections) {
      budget_ += kBudgetPerByte * placed.section.bytes().size();
    }
  }

  BuildStatus run(const UnwindTable*& table) noexcept {
    if (text_.end - text_.begin > kMaxCoveredBytes) return BuildStatus::kTooLarge;
    for (const PlacedSection& placed : sections_) {
      if (!collect(placed)) return BuildStatus::kNoMemory;
    }
    return compile_all(fdes_.span(), table);
  }

  BuildStatus compile_all(std::span<FdeIndex> fdes, const UnwindTable*& table) noexcept {
    if (!rules_.prepare() || !sort_by_start(fdes)) return BuildStatus::kNoMemory;
    for (const FdeIndex fde : fdes) {
      if (!compile(fde)) return BuildStatus::kNoMemory;
    }
    if (rows_.addresses().empty()) return BuildStatus::kNoCfi;
    table = pack_table(rows_, rules_);
    return table != nullptr ? BuildStatus::kOk : BuildStatus::kNoMemory;
  }

 private:
  // Limit of executed instruction bytes per byte of the section: those of a CIE are executed again
  // only if the cache has dropped it.
  static constexpr std::uint64_t kBudgetPerByte = 8;

  bool spend(std::span<const std::byte> instructions) noexcept {
    if (instructions.size() > budget_) return false;
    budget_ -= instructions.size();
    return true;
  }

  bool is_inside(const Fde& fde) const noexcept {
    return !fde.code.empty() && fde.code.begin >= text_.begin && fde.code.end <= text_.end;
  }

  // A CIE and the state that its instructions set up.
  struct CachedCie {
    std::size_t position = SIZE_MAX;
    std::optional<Cie> cie;
    CfiState state;
  };

  // Neighbouring FDEs in the code are usually neighbours in the section.
  const PlacedSection& section_at(std::size_t position) noexcept {
    if (position - current_->position >= current_->section.bytes().size()) {
      const auto* above = std::upper_bound(
          sections_.data(), sections_.data() + sections_.size(), position,
          [](std::size_t wanted, const PlacedSection& each) { return wanted < each.position; });
      current_ = above - 1;
    }
    return *current_;
  }

  const CachedCie& load_cie(const PlacedSection& placed, std::size_t offset) noexcept {
    const std::size_t position = placed.position + offset;
    CachedCie& cached = cies_[position / 8 % cies_.size()];
    if (cached.position == position) return cached;
    cached.position = position;
    cached.cie = std::nullopt;
    const CfiSection& section = placed.section;
    const std::optional<CfiEntry> entry = section.parse_entry(offset);
    if (entry && entry->is_cie) cached.cie = section.parse_cie(*entry);
    if (cached.cie && (!spend(cached.cie->instructions) ||
                       !CfiProgram::run_initial(section, *cached.cie, remembered_, cached.state))) {
      cached.cie = std::nullopt;
    }
    return cached;
  }

  // False: no memory. Stops at the first bytes that are not an entry; invalid FDEs are skipped.
  bool collect(const PlacedSection& placed) noexcept {
    const CfiSection& from = placed.section;
    std::optional<CfiEntry> entry = from.parse_entry(0);
    for (; entry; entry = from.parse_entry(entry->end)) {
      if (entry->is_cie) continue;
      const CachedCie& cached = load_cie(placed, entry->cie);
      if (!cached.cie) continue;
      const std::optional<Fde> fde = from.parse_fde(*entry, *cached.cie);
      if (!fde || !is_inside(*fde)) continue;
      if (!fdes_.push_back({fde->code.begin - text_.begin, placed.position + entry->offset})) {
        return false;
      }
    }
    return true;
  }

  // Receives the rows of CfiRows for one FDE.
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

  // False: no memory. Code after a damaged instruction gets no rule.
  bool compile(FdeIndex index) noexcept {
    const PlacedSection& placed = section_at(index.position());
    const CfiSection& from = placed.section;
    const std::optional<CfiEntry> entry = from.parse_entry(index.position() - placed.position);
    if (!entry || entry->is_cie) return true;
    const CachedCie& cached = load_cie(placed, entry->cie);
    const std::optional<Fde> fde = cached.cie ? from.parse_fde(*entry, *cached.cie) : std::nullopt;
    if (!fde || !is_inside(*fde) || fde->code.begin != text_.begin + index.start()) return true;
    // A row needs at least one byte of code and one of instructions.
    const std::uint64_t max_rows =
        std::min<std::uint64_t>(fde->code.end - fde->code.begin, fde->instructions.size()) + 1;
    if (!rows_.begin_fde(fde->code.begin, static_cast<std::size_t>(max_rows))) return false;
    Rows rows{from, rules_, rows_, cached.cie->signal_frame};
    bool ok = true;
    if (spend(fde->instructions)) {
      CfiProgram program(from, *cached.cie, cached.state, *fde, remembered_);
      ok = CfiRows<Rows>(program, *fde, rows).run();
    } else {
      ok = rows.add_none(fde->code.begin);
    }
    rows_.end_fde(fde->code.end);
    return ok;
  }

  std::span<const PlacedSection> sections_;
  const PlacedSection* current_;
  Range<std::uint64_t> text_;
  std::uint64_t budget_ = 0;
  std::array<CachedCie, 16> cies_{};  // a library has two or three
  RememberedStates remembered_;
  GrowableArray<FdeIndex> fdes_;
  RuleSet rules_;
  RowWriter rows_;
};

}  // namespace

BuildStatus compile_cfi(std::span<const PlacedSection> sections, Range<std::uint64_t> text,
                        const UnwindTable*& table) noexcept {
  if (sections.empty()) return BuildStatus::kNoCfi;
  const MappedObject<CfiCompiler> compiler(sections, text);
  return compiler ? compiler->run(table) : BuildStatus::kNoMemory;
}

BuildStatus compile_fdes(const CfiSection& section, Range<std::uint64_t> text,
                         std::span<FdeIndex> fdes, const UnwindTable*& table) noexcept {
  const PlacedSection placed{section};
  const MappedObject<CfiCompiler> compiler(std::span(&placed, 1), text);
  return compiler ? compiler->compile_all(fdes, table) : BuildStatus::kNoMemory;
}

}  // namespace swipr::unwind
