#include <algorithm>

#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/mapped_object.h"
#include "preload/unwind/derived/derived_table.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/table/row_writer.h"
#include "preload/unwind/table/rule_set.h"
#include "preload/unwind/table/table_packer.h"

namespace swipr::unwind {

namespace {

constexpr std::uint64_t kMaxTextBytes = std::uint64_t{64} << 10;
using machine::kInstructionBytes;

class LeafFinder {
 public:
  LeafFinder(const BuildResult& image, ImageReader reader) noexcept
      : image_(image), reader_(reader), text_(image.text) {}

  BuildStatus run(const UnwindTable*& table) noexcept {
    const std::uint64_t bytes = text_.end - text_.begin;
    if (bytes > kMaxTextBytes) return BuildStatus::kTooLarge;
    if (!code_.resize(bytes / kInstructionBytes) || !rules_.prepare()) {
      return BuildStatus::kNoMemory;
    }
    if (!reader_.read(reader_.state, image_.load_bias + text_.begin,
                      std::as_writable_bytes(code_.span()))) {
      return BuildStatus::kUnreadable;
    }
    const auto add = [](void* self, Range<std::uint64_t> function) noexcept {
      static_cast<LeafFinder*>(self)->note(function);
    };
    if (!for_each_function(image_.dynamic, image_.load_bias, reader_, {add, this})) {
      return BuildStatus::kNoCfi;
    }
    if (is_out_of_memory_ || !write_rows()) return BuildStatus::kNoMemory;
    table = pack_table(rows_, rules_);
    return table != nullptr ? BuildStatus::kOk : BuildStatus::kNoMemory;
  }

 private:
  void note(Range<std::uint64_t> function) noexcept {
    const bool is_inside = function.begin >= text_.begin && function.end <= text_.end &&
                           function.begin % kInstructionBytes == 0 && !function.empty();
    if (is_inside && is_leaf(function) && !leaves_.push_back(function)) is_out_of_memory_ = true;
  }

  bool is_leaf(Range<std::uint64_t> function) const noexcept {
    const auto all = code_.span().subspan((function.begin - text_.begin) / kInstructionBytes);
    const auto own = all.first((function.end - function.begin) / kInstructionBytes);
    return std::all_of(own.begin(), own.end(), machine::keeps_return_address);
  }

  bool write_rows() noexcept {
    const std::uint32_t rule = rules_.intern({.cfa_register = kStackRegister}, {});
    if (rule == RuleSet::kNoMemory) return false;
    std::sort(leaves_.span().begin(), leaves_.span().end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (const Range<std::uint64_t>& leaf : leaves_.span()) {
      if (!rows_.begin_fde(leaf.begin, 2)) return false;
      rows_.add(leaf.begin, static_cast<std::uint16_t>(rule));
      rows_.end_fde(leaf.end);
    }
    return true;
  }

  const BuildResult& image_;
  ImageReader reader_;
  Range<std::uint64_t> text_;
  GrowableArray<std::uint32_t> code_;
  GrowableArray<Range<std::uint64_t>> leaves_;
  RuleSet rules_;
  RowWriter rows_;
  bool is_out_of_memory_ = false;
};

}  // namespace

BuildStatus derive_table(const BuildResult& image, ImageReader reader,
                         const UnwindTable*& table) noexcept {
  const MappedObject<LeafFinder> finder(image, reader);
  return finder ? finder->run(table) : BuildStatus::kNoMemory;
}

}  // namespace swipr::unwind
