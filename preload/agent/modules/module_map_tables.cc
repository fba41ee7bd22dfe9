// Unwind tables of images, built when a walk reaches their code: most libraries of a program are on
// no stack.
#include <algorithm>

#include "preload/agent/modules/files/debug_frame_file.h"
#include "preload/agent/modules/module_map.h"
#include "preload/unwind/derived/derived_table.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

// The tables of CPython and libc together take 0.6 MB.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 20;

Range<std::uint64_t> text_of(const Image& image, unsigned part) noexcept {
  const Range<std::uint64_t> text = image.described.text;
  const Range<std::uint64_t> code = image.tables.part(part);
  return {std::max(text.begin, code.begin), std::min(text.end, code.end)};
}

unwind::TableKey key_of(const Image& image, unsigned part) noexcept {
  unwind::TableKey key = unwind::key_of(image.described);
  const Range<std::uint64_t> code = text_of(image, part);
  key.text_begin = code.begin;
  key.text_end = code.end;
  return key;
}

bool is_c_library(const Image& image, ProcMemory& memory) noexcept {
  return unwind::find_exported(image.described.dynamic, image.described.load_bias,
                               "__libc_start_main", memory.image_reader()) != 0;
}

// Code built without .eh_frame still has the few bytes that belong to the start-up code. aarch64's
// vDSO has none at all.
const unwind::UnwindTable* make_whole_table(std::string_view path, const Image& image,
                                            ProcMemory& memory) noexcept {
  constexpr std::uint64_t kStartUpOnly = 1024;
  using unwind::BuildStatus;
  unwind::BuildResult built = unwind::build_table(image.header, memory.image_reader());
  const bool may_have_more =
      built.status == BuildStatus::kOk
          ? built.eh_frame_bytes < kStartUpOnly
          : built.status == BuildStatus::kNoCfi || built.status == BuildStatus::kDamaged;
  if (!may_have_more) return built.table;
  DebugFrameFile file(path, image.inode);
  unwind::BuildResult more;
  if (file.section().bytes != 0) {
    more = unwind::build_table(image.header, memory.image_reader(), file.section());
  } else if (is_c_library(image, memory) || (path == "[vdso]" && built.table == nullptr)) {
    more.status = unwind::derive_table(image.described, memory.image_reader(), more.table);
  }
  if (more.status != BuildStatus::kOk) return built.table;
  unwind::destroy_table(built.table);
  return more.table;
}

const unwind::UnwindTable* make_table(std::string_view path, const Image& image, unsigned part,
                                      ProcMemory& memory) noexcept {
  if (!image.tables.is_divided()) return make_whole_table(path, image, memory);
  const unwind::UnwindTable* table = nullptr;
  const unwind::BuildStatus status =
      unwind::build_part(image.described, text_of(image, part), memory.image_reader(), table);
  return status == unwind::BuildStatus::kNoCfi ? &unwind::kEmptyTable : table;
}

}  // namespace

const Module* ModuleMap::find_live(std::uint64_t address) const noexcept {
  const std::uint32_t* const above = std::upper_bound(
      live_.begin(), live_.end(), address,
      [this](std::uint64_t wanted, std::uint32_t index) { return wanted < modules_[index].start; });
  if (above == live_.begin()) return nullptr;
  const Module& module = modules_[above[-1]];
  return address < module.end ? &module : nullptr;
}

// The table and the copy from which it is built take less than half of the size of the code.
bool ModuleMap::has_room_for_table(std::uint64_t code_bytes) noexcept {
  if (room_ != nullptr && !room_->has(kLeastRoom + code_bytes / 2)) short_of_room_ = true;
  return !short_of_room_;
}

void ModuleMap::find_table(const Module& module, Image& image, unsigned part,
                           ProcMemory& memory) noexcept {
  const unwind::TableKey key = key_of(image, part);
  const unwind::UnwindTable* table = kept_.take(key);
  if (table == nullptr) table = files_.load(key);
  const bool is_new = table == nullptr;
  if (is_new) table = make_table(path_of(module), image, part, memory);
  image.tables.set(part, table, is_new);
}

// No code map refers to them any more.
void ModuleMap::keep_tables(Image& image) noexcept {
  for (unsigned part = 0; part < image.tables.count(); ++part) {
    bool is_new = false;
    const unwind::UnwindTable* const table = image.tables.release(part, is_new);
    if (table == nullptr) continue;
    const unwind::TableKey key = key_of(image, part);
    if (is_new) files_.store(*table, key);
    kept_.put(table, key);
  }
  // With a memory limit no table is kept, because the kernel could kill the program for its memory.
  kept_.trim(room_ != nullptr && room_->is_limited() ? 0 : kMaxKeptBytes);
}

void ModuleMap::build_part(const Module& module, unsigned part, ProcMemory& memory) noexcept {
  Image& image = images_[module.image];
  if (image.tables.is_built(part)) return;
  const Range<std::uint64_t> code = text_of(image, part);
  if (has_room_for_table(code.end - code.begin)) {
    find_table(module, image, part, memory);
  } else {
    image.tables.set(part, nullptr, false);
  }
  // Code without its own table may be in that of registered code.
  if (is_bare(module) && !registered_.is_unused()) bare_code_grew_ = true;
}

bool ModuleMap::build_table_at(std::uint64_t address, ProcMemory& memory) noexcept {
  const Module* const met = find_live(address);
  if (met == nullptr || met->image == kNoImage || current_ == nullptr || stale_) return false;
  const Image& image = images_[met->image];
  const unsigned wanted = image.tables.index_of(address - image.described.load_bias);
  build_part(*met, wanted, memory);
  bool changed = false;
  for (const std::uint32_t index : live_) {
    if (modules_[index].image != met->image) continue;
    for_each_part(modules_[index], [&](unsigned part, Range<std::uint64_t> code) {
      if (part == wanted) changed = set_table(code.begin, image.tables.table(part)) || changed;
    });
  }
  return changed;
}

}  // namespace swipr::agent
