#include "preload/agent/modules/registered/registered_code.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/agent/modules/registered/frame_registrations.h"

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

unwind::CodeChecksums RegisteredCode::checksums() noexcept {
  const auto* const all = static_cast<const unwind::CodeChecksum*>(checksums_.memory.memory);
  return {.sorted = {all, checksums_.count}, .contradicted = &jit_.contradicted()};
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
  if (!build_checksums(cfi, memory)) return false;
  for (std::size_t first = 0; first < code.size();) {
    std::size_t last = first;
    while (last + 1 < code.size() && code[last + 1].end - code[first].begin <= kMaxSpan) ++last;
    if (!build(cfi, {code[first].begin, code[last].end})) return false;
    first = last + 1;
  }
  return true;
}

bool RegisteredCode::build_checksums(unwind::RegisteredCfi& cfi, ProcMemory& memory) noexcept {
  if (checksums_.count != 0 && !dead_checksums_.push_back(checksums_.memory)) return false;
  checksums_ = {};
  unwind::GrowableArray<unwind::CodeChecksum> built;
  if (!cfi.build_checksums(memory.image_reader(), built)) return false;
  if (built.empty()) return true;
  cfi.confirm_checksums(jit_.is_still_listed(), memory.image_reader(), built.span());
  checksums_.count = built.size();
  checksums_.memory = built.release();
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
  for (const unwind::Mapping mapping : dead_checksums_) {
    ::munmap(mapping.memory, mapping.bytes);
  }
  dead_checksums_.clear();
}

void RegisteredCode::release() noexcept {
  for (Table& table : tables_) table.live = false;
  if (checksums_.count != 0) ::munmap(checksums_.memory.memory, checksums_.memory.bytes);
  checksums_ = {};
  destroy_dead();
  tables_.release();
  dead_checksums_.release();
  jit_.release();
  changes_seen_ = 0;
}

}  // namespace swipr::agent
