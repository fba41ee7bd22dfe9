#include "preload/agent/modules/registered_code.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/agent/modules/frame_registrations.h"

namespace swipr::agent {

namespace {
constexpr std::uint64_t kMaxSpan = UINT32_MAX;  // of one table
}  // namespace

bool RegisteredCode::is_outdated(const ProcMemory& memory, Moment now) noexcept {
  const bool jit_is_outdated = jit_.is_outdated(memory, now);
  return jit_is_outdated || frame_registrations::change_count() != changes_seen_;
}

bool RegisteredCode::is_unused() const noexcept {
  return frame_registrations::change_count() == 0 && !jit_.has_descriptors() && tables_.empty();
}

unwind::Withdrawals RegisteredCode::withdrawals() const noexcept {
  return {&frame_registrations::removal_count, removals_seen_};
}

unwind::CodeWitnesses RegisteredCode::witnesses() noexcept {
  const auto* const all = static_cast<const unwind::CodeWitness*>(witnesses_.memory.memory);
  return {.sorted = {all, witnesses_.count}, .contradicted = &jit_.contradicted()};
}

bool RegisteredCode::rebuild(std::span<const Range<std::uint64_t>> code,
                             ProcMemory& memory) noexcept {
  for (Table& table : tables_) table.live = false;
  // Read before the first entry: a withdrawal meanwhile makes the result outdated.
  changes_seen_ = frame_registrations::change_count();
  removals_seen_ = frame_registrations::removal_count.load();
  if (!memory.is_open()) return true;
  unwind::RegisteredCfi cfi;
  for (const auto& entry : frame_registrations::entries()) {
    const std::uint64_t address = frame_registrations::table_at(entry);
    // An unreadable one is being removed, or was never valid.
    if (address != 0) static_cast<void>(cfi.add(address, memory.image_reader()));
  }
  jit_.read(memory, cfi);
  if (!build_witnesses(cfi, memory)) return false;
  for (std::size_t first = 0; first < code.size();) {
    std::size_t last = first;
    while (last + 1 < code.size() && code[last + 1].end - code[first].begin <= kMaxSpan) ++last;
    if (!build(cfi, {code[first].begin, code[last].end})) return false;
    first = last + 1;
  }
  return true;
}

bool RegisteredCode::build_witnesses(const unwind::RegisteredCfi& cfi,
                                     ProcMemory& memory) noexcept {
  if (witnesses_.count != 0 && !dead_witnesses_.push_back(witnesses_.memory)) return false;
  witnesses_ = {};
  unwind::GrowableArray<unwind::CodeWitness> built;
  if (!cfi.build_witnesses(memory.image_reader(), built)) return false;
  if (built.empty()) return true;
  witnesses_.count = built.size();
  witnesses_.memory = built.release();
  return true;
}

bool RegisteredCode::build(const unwind::RegisteredCfi& cfi, Range<std::uint64_t> code) noexcept {
  Table built{.code = code, .live = true};
  const unwind::BuildStatus status = cfi.build(code, built.table);
  if (status == unwind::BuildStatus::kNoMemory) return false;
  if (built.table == nullptr) return true;
  Table* const free =
      std::find_if(tables_.begin(), tables_.end(), [](const Table& t) { return !t.table; });
  if (free != tables_.end()) {
    *free = built;
  } else if (!tables_.push_back(built)) {
    unwind::destroy_table(built.table);
    return false;
  }
  return true;
}

const unwind::UnwindTable* RegisteredCode::find(std::uint64_t start) const noexcept {
  for (const Table& table : tables_) {
    if (table.live && start >= table.code.begin && start < table.code.end) return table.table;
  }
  return nullptr;
}

void RegisteredCode::destroy_dead() noexcept {
  for (Table& table : tables_) {
    if (table.live || table.table == nullptr) continue;
    unwind::destroy_table(table.table);
    table.table = nullptr;
  }
  for (const unwind::Mapping mapping : dead_witnesses_) {
    ::munmap(mapping.memory, mapping.bytes);
  }
  dead_witnesses_.clear();
}

void RegisteredCode::release() noexcept {
  for (Table& table : tables_) table.live = false;
  if (witnesses_.count != 0) ::munmap(witnesses_.memory.memory, witnesses_.memory.bytes);
  witnesses_ = {};
  destroy_dead();
  tables_.release();
  dead_witnesses_.release();
  jit_.release();
  changes_seen_ = 0;
}

}  // namespace swipr::agent
