#include "preload/unwind/table_builder.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "preload/unwind/cfi_program.h"
#include "preload/unwind/cfi_section.h"
#include "preload/unwind/elf_image.h"
#include "preload/unwind/growable_array.h"
#include "preload/unwind/row_writer.h"
#include "preload/unwind/rule_maker.h"
#include "preload/unwind/rule_set.h"
#include "preload/unwind/table_packer.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kMaxEhFrameBytes = 256 << 20;
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
    if (done > kMaxEhFrameBytes) return BuildStatus::kTooLarge;
    const std::size_t piece = std::min<std::uint64_t>(kPieceBytes, limit - done);
    if (!out.resize(done + piece)) return BuildStatus::kNoMemory;
    const std::uint64_t address = load_bias + section.begin + done;
    if (!reader.read(reader.state, address, out.span().subspan(done))) {
      return BuildStatus::kUnreadable;
    }
    while (next + kEntryHeadBytes <= out.size() || (out.size() == limit && next < limit)) {
      const std::uint64_t bytes = CfiSection::entry_bytes(out.span(), next);
      if (bytes == 0 || bytes > limit - next) return BuildStatus::kOk;
      next += bytes;
    }
  }
  return BuildStatus::kOk;
}

// Which FDE covers which code; pointers into the section are offsets.
struct FdeIndex {
  Range<std::uint64_t> code;
  std::uint32_t offset = 0;
};

class CfiCompiler {
 public:
  CfiCompiler(const CfiSection& section, Range<std::uint64_t> text) noexcept
      : section_(section), text_(text), budget_(kBudgetPerByte * section.bytes().size()) {}

  BuildStatus run(const UnwindTable*& table) noexcept {
    if (!rules_.prepare() || !collect()) return BuildStatus::kNoMemory;
    if (fdes_.empty()) return BuildStatus::kNoCfi;
    const auto fdes = fdes_.span();
    const auto by_address = [](const FdeIndex& a, const FdeIndex& b) {
      return a.code.begin != b.code.begin ? a.code.begin < b.code.begin : a.offset < b.offset;
    };
    // Linkers mostly leave them in the order of the code.
    if (!std::is_sorted(fdes.begin(), fdes.end(), by_address)) {
      std::sort(fdes.begin(), fdes.end(), by_address);
    }
    if (text_.end - fdes.front().code.begin > kMaxCoveredBytes) return BuildStatus::kTooLarge;
    RowWriter rows(fdes.front().code.begin);
    for (const FdeIndex& fde : fdes) {
      if (!compile(fde, rows)) return BuildStatus::kNoMemory;
    }
    table = pack_table(rows, rules_);
    return table != nullptr ? BuildStatus::kOk : BuildStatus::kNoMemory;
  }

 private:
  // An instruction takes at least a byte, and a CIE's run again only when the cache lost it.
  static constexpr std::uint64_t kBudgetPerByte = 8;

  // A CIE and what its instructions set up.
  struct CachedCie {
    std::size_t offset = SIZE_MAX;
    std::optional<Cie> cie;
    CfiState state;
  };

  const CachedCie& load_cie(std::size_t offset) noexcept {
    CachedCie& cached = cies_[offset / 8 % cies_.size()];
    if (cached.offset == offset) return cached;
    cached.offset = offset;
    cached.cie = std::nullopt;
    const std::optional<CfiEntry> entry = section_.parse_entry(offset);
    if (entry && entry->is_cie) cached.cie = section_.parse_cie(*entry);
    if (cached.cie &&
        !CfiProgram::run_initial(section_, *cached.cie, remembered_, budget_, cached.state)) {
      cached.cie = std::nullopt;
    }
    return cached;
  }

  // False: no memory. Stops at the first bytes that are no entry; FDEs that make no sense are left
  // out.
  bool collect() noexcept {
    std::optional<CfiEntry> entry = section_.parse_entry(0);
    for (; entry; entry = section_.parse_entry(entry->end)) {
      if (entry->is_cie) continue;
      const CachedCie& cached = load_cie(entry->cie);
      if (!cached.cie) continue;
      const std::optional<Fde> fde = section_.parse_fde(*entry, *cached.cie);
      if (!fde || fde->code.empty() || fde->code.begin < text_.begin || fde->code.end > text_.end) {
        continue;
      }
      if (!fdes_.push_back({fde->code, static_cast<std::uint32_t>(entry->offset)})) return false;
    }
    return true;
  }

  // False: no memory. Code behind a damaged instruction gets no rule.
  bool compile(const FdeIndex& index, RowWriter& rows) noexcept {
    const std::optional<CfiEntry> entry = section_.parse_entry(index.offset);
    const CachedCie& cached = load_cie(entry->cie);
    const std::optional<Fde> fde =
        cached.cie ? section_.parse_fde(*entry, *cached.cie) : std::nullopt;
    if (!fde) return true;
    CfiProgram program(section_, *cached.cie, cached.state, *fde, remembered_, budget_);
    if (!rows.begin_fde(index.code.begin)) return false;
    for (bool more = true; more;) {
      const std::uint64_t start = program.location();
      const CfiProgram::Outcome outcome = program.run_to_next_location();
      std::uint32_t rule = RuleSet::kNone;
      if (outcome != CfiProgram::Outcome::kDamaged) {
        rule = make_rule(program.state(), section_, cached.cie->signal_frame, rules_);
      }
      if (rule == RuleSet::kNoMemory || !rows.add(start, static_cast<std::uint16_t>(rule))) {
        return false;
      }
      more = outcome == CfiProgram::Outcome::kAdvanced && program.location() < index.code.end;
    }
    return rows.end_fde(index.code.end);
  }

  const CfiSection& section_;
  Range<std::uint64_t> text_;
  std::uint64_t budget_;
  std::array<CachedCie, 16> cies_{};  // a library has two or three
  RememberedStates remembered_;
  GrowableArray<FdeIndex> fdes_;
  RuleSet rules_;
};

}  // namespace

BuildResult build_table(std::uint64_t elf_header, ImageReader reader) noexcept {
  BuildResult result;
  ElfImage image;
  result.status = read_elf_image(elf_header, reader, image);
  result.load_bias = image.load_bias;
  result.build_id_bytes = image.build_id_bytes;
  std::memcpy(result.build_id, image.build_id, image.build_id_bytes);
  if (result.status != BuildStatus::kOk) return result;
  GrowableArray<std::byte> bytes;
  result.status = copy_section(image.eh_frame, image.load_bias, reader, bytes);
  if (result.status != BuildStatus::kOk) return result;
  const CfiSection section(bytes.span(), image.eh_frame.begin, image.load_bias);
  result.status = CfiCompiler(section, image.text).run(result.table);
  return result;
}

void destroy_table(const UnwindTable* table) noexcept {
  if (table != nullptr) ::munmap(const_cast<UnwindTable*>(table), table->mapped_bytes);
}

std::size_t table_memory_bytes(const UnwindTable* table) noexcept {
  return table != nullptr ? table->mapped_bytes : 0;
}

}  // namespace swipr::unwind
