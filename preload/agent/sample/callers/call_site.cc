#include "preload/agent/sample/callers/call_site.h"

#include <algorithm>

#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

bool read_code(const ProcMemory& memory, std::uint64_t address,
               std::span<std::uint8_t> out) noexcept {
  if (!memory.read(address, std::as_writable_bytes(out))) return false;
  const auto* const replaced = unwind::replaced_code.load(std::memory_order_acquire);
  if (replaced != nullptr) replaced->restore(address, out);
  return true;
}

std::uint64_t read_pointer(const ProcMemory& memory, std::uint64_t address) noexcept {
  std::uint64_t value = 0;
  return memory.read(address, std::as_writable_bytes(std::span(&value, 1))) ? value : 0;
}

Code::Code(const ProcMemory& memory, std::uint64_t begin, std::uint64_t end) noexcept
    : begin_(begin) {
  size_ = std::min<std::size_t>(end - begin, kPieceBytes);
  const std::size_t bytes = size_ + machine::kLongestInstruction;
  // There may be no readable memory after the last function of a mapping.
  if (!read_code(memory, begin, std::span(bytes_, bytes)) &&
      !read_code(memory, begin, std::span(bytes_, size_))) {
    size_ = 0;
  }
}

std::optional<CodeGap> CodeGap::find(const unwind::CodeMap& map, std::uint64_t pc) noexcept {
  const unwind::CodeRange* const range = map.find(pc);
  if (range == nullptr || range->is_registered) return std::nullopt;
  const unwind::UnwindTable* const table = map.table_of(*range);
  if (table == nullptr || table == &unwind::kUnbuiltTable) return std::nullopt;
  if (table->find(pc - range->load_bias) != nullptr) return std::nullopt;
  return CodeGap(*range, *table, pc);
}

bool CodeGap::contains(std::uint64_t address) const noexcept {
  // The table begins with the function before its part of the image.
  const std::uint64_t begin = std::min(range_->start, range_->load_bias + table_->base);
  return address >= begin && address < range_->end &&
         table_->find(address - range_->load_bias) == nullptr && start_of(address) == start_;
}

std::uint64_t CodeGap::start_of(std::uint64_t address) const noexcept {
  const std::uint64_t end = range_->load_bias + table_->base + table_->covered_bytes;
  if (address >= end) return end;
  const std::uint64_t function = table_->function_start(address - range_->load_bias);
  return function == 0 ? range_->start : range_->load_bias + function;
}

Functions::Functions(const unwind::CodeMap& map, std::uint64_t address) noexcept {
  const unwind::CodeRange* const range = map.find(address);
  if (range == nullptr) return;
  table_ = map.table_of(*range);
  load_bias_ = range->load_bias;
}

const unwind::Rule* Functions::rule_at(std::uint64_t address) const noexcept {
  return table_ == nullptr ? nullptr : table_->find(address - load_bias_);
}

std::uint64_t Functions::start_of(std::uint64_t address) const noexcept {
  if (rule_at(address) == nullptr) return 0;
  return table_->function_start(address - load_bias_) + load_bias_;
}

Range<std::uint64_t> Functions::extent_of(std::uint64_t address) const noexcept {
  const std::uint64_t start = start_of(address);
  if (start == 0) return {};
  const std::uint64_t base = load_bias_ + table_->base;
  const std::uint32_t* const last = table_->function_starts + table_->function_count;
  const std::uint32_t* const next =
      std::upper_bound(table_->function_starts, last, static_cast<std::uint32_t>(start - base));
  return {start, base + (next == last ? table_->covered_bytes : *next)};
}

}  // namespace swipr::agent
