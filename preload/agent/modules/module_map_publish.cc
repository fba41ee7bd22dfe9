// The code map of walks: built from the module map, published to the handler, withdrawn.
#include <algorithm>
#include <new>

#include "preload/agent/modules/module_map.h"
#include "preload/handler/slots.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/loop/rule_cache.h"

namespace swipr::agent {

// A published code map, its cache and its ranges in one mapping.
struct ModuleMap::Snapshot {
  std::size_t bytes;
  unwind::RuleCache cache;
  unwind::CodeMap map;
};

// Of one part of its image.
unwind::CodeRange ModuleMap::range_of(const Module& module, unsigned part,
                                      Range<std::uint64_t> code) const noexcept {
  unwind::CodeRange range{.start = code.begin, .end = code.end};
  const Image* const image = image_of(module);
  if (image != nullptr) {
    range.load_bias = image->described.load_bias;
    range.table = image->tables.table(part);
    if (range.table != nullptr) return range;
  }
  range.table = registered_.find(module.start);
  if (range.table == nullptr) return range;
  range.load_bias = 0;
  range.is_registered = true;
  return range;
}

bool ModuleMap::publish() noexcept {
  if (current_ != nullptr && retired_count_ == kMaxRetired) free_retired();
  if (current_ != nullptr && retired_count_ == kMaxRetired) return false;
  std::size_t count = 0;
  for (const std::uint32_t index : live_) {
    for_each_part(modules_[index], [&count](unsigned, Range<std::uint64_t>) { ++count; });
  }
  const std::size_t bytes = round_to_pages(sizeof(Snapshot) + count * sizeof(unwind::CodeRange));
  void* memory = map_memory(bytes);
  if (memory == nullptr) return false;
  auto* ranges =
      reinterpret_cast<unwind::CodeRange*>(static_cast<std::byte*>(memory) + sizeof(Snapshot));
  unwind::CodeRange* next = ranges;
  for (const std::uint32_t index : live_) {
    const Module& module = modules_[index];
    for_each_part(module, [this, &module, &next](unsigned part, Range<std::uint64_t> code) {
      *next++ = range_of(module, part, code);
    });
  }
  // The cache is fresh memory, all zero.
  auto* snapshot = static_cast<Snapshot*>(memory);
  snapshot->bytes = bytes;
  new (&snapshot->map)
      unwind::CodeMap(std::span<const unwind::CodeRange>(ranges, count), &snapshot->cache,
                      registered_.withdrawals(), registered_.checksums());
  handler::shared.code_map.store(&snapshot->map, std::memory_order_seq_cst);
  if (current_ != nullptr) retired_[retired_count_++] = current_;
  current_ = snapshot;
  return true;
}

// In the current code map. False: the range that begins there has a table already, or is unknown.
bool ModuleMap::set_table(std::uint64_t start, const unwind::UnwindTable* table) noexcept {
  auto* const ranges = reinterpret_cast<unwind::CodeRange*>(current_ + 1);
  const std::size_t count = current_->map.ranges().size();
  unwind::CodeRange* const found = std::lower_bound(
      ranges, ranges + count, start,
      [](const unwind::CodeRange& range, std::uint64_t wanted) { return range.start < wanted; });
  if (found == ranges + count || found->start != start) return false;
  if (found->table != &unwind::kUnbuiltTable || table == &unwind::kUnbuiltTable) return false;
  __atomic_store_n(&found->table, table, __ATOMIC_RELEASE);
  return true;
}

// Only retired code maps, or none, refer to removed images.
void ModuleMap::free_retired() noexcept {
  if (retired_count_ == 0 && current_ != nullptr) return;
  if (handler::retired_maps_are_free()) release_retired();
}

void ModuleMap::release_retired() noexcept {
  for (std::size_t at = 0; at < retired_count_; ++at)
    unmap_memory(retired_[at], retired_[at]->bytes);
  retired_count_ = 0;
  runtimes_.free_retired();
  if (!stale_) destroy_dead_tables();
}

// Only if no older code map is left and the current one does not refer to removed images.
void ModuleMap::destroy_dead_tables() noexcept {
  registered_.destroy_dead();
  for (Image& image : images_) {
    if (!image.live && image.tables.has_memory()) keep_tables(image);
  }
}

bool ModuleMap::try_close() noexcept {
  handler::shared.code_map.store(nullptr, std::memory_order_seq_cst);
  runtimes_.withdraw();
  stale_ = true;  // a recording that begins before it is closed publishes them again
  if (!handler::retired_maps_are_free()) return false;
  if (current_ != nullptr) unmap_memory(current_, current_->bytes);
  current_ = nullptr;
  for (Image& image : images_) image.live = false;
  stale_ = false;
  release_retired();
  stale_ = true;
  short_of_room_ = false;
  unknown_code_due_ = unknown_code_pause_ = {};
  files_.close();
  maps_text_.release();
  texts_.release();
  modules_.release();
  first_free_ = 0;
  forgotten_count_ = gone_count_;
  live_.release();
  images_.release();
  bare_code_.release();
  registered_.release();
  runtimes_.release();
  return true;
}

const unwind::CodeMap* ModuleMap::code_map() const noexcept {
  return current_ == nullptr ? nullptr : &current_->map;
}

}  // namespace swipr::agent
