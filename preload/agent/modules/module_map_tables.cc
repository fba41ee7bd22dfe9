// Unwind tables of images, made when a walk meets their code: of the libraries of a program most
// are met by no stack.
#include <algorithm>

#include "preload/agent/modules/debug_frame_file.h"
#include "preload/agent/modules/module_map.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

// The tables of CPython and libc together have 0.6 MB.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 20;

// Code built without .eh_frame still has the few bytes of it that belong to the start-up code.
unwind::BuildResult make_table(std::string_view path, const Image& image,
                               ProcMemory& memory) noexcept {
  constexpr std::uint64_t kStartUpOnly = 1024;
  using unwind::BuildStatus;
  unwind::BuildResult built = unwind::build_table(image.header, memory.image_reader());
  const bool may_have_more =
      built.status == BuildStatus::kOk
          ? built.eh_frame_bytes < kStartUpOnly
          : built.status == BuildStatus::kNoCfi || built.status == BuildStatus::kDamaged;
  if (!may_have_more) return built;
  DebugFrameFile file(path, image.inode);
  if (file.section().bytes == 0) return built;
  unwind::BuildResult more =
      unwind::build_table(image.header, memory.image_reader(), file.section());
  if (more.status != BuildStatus::kOk) return built;
  unwind::destroy_table(built.table);
  return more;
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

// The table and the copy that it is made from take less than half of what the code itself has.
bool ModuleMap::has_room_for_table(const Module& module) noexcept {
  if (room_ != nullptr && !room_->has(kLeastRoom + (module.end - module.start) / 2)) {
    short_of_room_ = true;
  }
  return !short_of_room_;
}

void ModuleMap::find_table(const Module& module, Image& image, ProcMemory& memory) noexcept {
  const unwind::TableKey key = unwind::key_of(image.built);
  image.built.table = kept_.take(key);
  if (image.built.table == nullptr) image.built.table = files_.load(key);
  if (image.built.table != nullptr) return;
  image.built = make_table(path_of(module), image, memory);
  image.is_new = image.built.table != nullptr;
}

// No code map knows it any more.
void ModuleMap::keep_table(Image& image) noexcept {
  const unwind::TableKey key = unwind::key_of(image.built);
  if (image.is_new) files_.store(*image.built.table, key);
  kept_.put(image.built.table, key);
  image.built.table = nullptr;
  // A kept table is not worth what the kernel could end the program for.
  kept_.trim(room_ != nullptr && room_->is_limited() ? 0 : kMaxKeptBytes);
}

// False: it is built.
bool ModuleMap::build_image(const Module& module, ProcMemory& memory) noexcept {
  if (module.image == kNoImage || images_[module.image].is_built) return false;
  Image& image = images_[module.image];
  image.is_built = true;
  if (has_room_for_table(module)) find_table(module, image, memory);
  // Code without a table of its own may be in that of registered code.
  if (image.built.table == nullptr && !registered_.is_unused()) {
    bare_code_grew_ = true;
  }
  return true;
}

bool ModuleMap::build_table_at(std::uint64_t address, ProcMemory& memory) noexcept {
  const Module* const met = find_live(address);
  if (met == nullptr || current_ == nullptr || stale_) return false;
  build_image(*met, memory);
  bool changed = false;
  for (const std::uint32_t index : live_) {
    const Module& module = modules_[index];
    if (module.image != met->image) continue;
    changed = set_table(module.start, own_table_of(module)) || changed;
  }
  return changed;
}

}  // namespace swipr::agent
