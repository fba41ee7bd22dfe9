#include "preload/agent/modules/module_map.h"

#include <algorithm>
#include <cstring>

#include "preload/agent/modules/files/maps_text.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {
// Code that remains unknown (generated at run time, or a damaged stack) must not cause a read of
// the maps at every tick.
constexpr std::chrono::milliseconds kUnknownCodePauseMin{10};
constexpr std::chrono::milliseconds kUnknownCodePauseMax{1000};
}  // namespace

bool ModuleMap::refresh(ProcMemory& memory) noexcept {
  const std::chrono::nanoseconds begin = read_own_clock();
  // Until the new state is published, the current code map may still refer to images that are
  // removed here.
  bool changed = stale_ || bare_code_grew_;
  stale_ = true;
  bare_code_grew_ = false;
  const bool ok = read_maps_text(maps_text_) && parse_text(memory, changed) &&
                  drop_vanished(changed) && update_registered(memory, changed) &&
                  (!changed || publish());
  stale_ = !ok;
  free_retired();
  cost_ = read_own_clock() - begin;
  return ok;
}

bool ModuleMap::refresh_for_unknown_code(ProcMemory& memory,
                                         std::chrono::nanoseconds now) noexcept {
  if (now < unknown_code_due_) return false;
  const std::uint64_t known = change_count_;
  const bool outdated = is_outdated(memory, now);
  refresh(memory);
  const bool changed = outdated || change_count_ != known;
  unknown_code_pause_ =
      changed ? kUnknownCodePauseMin
              : std::clamp<std::chrono::nanoseconds>(unknown_code_pause_ * 2, kUnknownCodePauseMin,
                                                     kUnknownCodePauseMax);
  unknown_code_due_ = now + unknown_code_pause_;
  return changed;
}

bool ModuleMap::parse_text(ProcMemory& memory, bool& changed) noexcept {
  for (Module& module : modules_) module.seen = false;
  return for_each_code_mapping(
      {maps_text_.data(), maps_text_.size()},
      [this, &memory, &changed](const MapsLine& line, std::uint64_t header) {
        return take_mapping(line, header, memory, changed);
      });
}

// The live module at the line's address; modules_.size(): none.
std::uint32_t ModuleMap::find_module(const MapsLine& line) const noexcept {
  const std::uint32_t* found = std::lower_bound(
      live_.begin(), live_.end(), line.start,
      [this](std::uint32_t index, std::uint64_t start) { return modules_[index].start < start; });
  const auto none = static_cast<std::uint32_t>(modules_.size());
  if (found == live_.end()) return none;
  const Module& module = modules_[*found];
  const bool same = module.start == line.start && module.end == line.end &&
                    module.file_offset == line.offset && module.inode == line.inode &&
                    module.device == line.device &&
                    (line.path.empty() || path_of(module) == line.path);
  return same ? *found : none;
}

bool ModuleMap::take_mapping(const MapsLine& line, std::uint64_t header, ProcMemory& memory,
                             bool& changed) noexcept {
  const std::uint32_t known = find_module(line);
  if (known < modules_.size()) {
    modules_[known].seen = true;
    return true;
  }
  changed = true;
  const std::string_view path = line.path.empty() ? std::string_view("[anon]") : line.path;
  Module module{.start = line.start,
                .end = line.end,
                .file_offset = line.offset,
                .device = line.device,
                .inode = line.inode,
                .path_begin = static_cast<std::uint32_t>(texts_.size()),
                .path_size = static_cast<std::uint32_t>(path.size()),
                .seen = true};
  if (header != 0) module.image = find_or_add_image(line, header, memory);
  if (!texts_.reserve(texts_.size() + path.size())) return false;
  std::memcpy(texts_.data() + texts_.size(), path.data(), path.size());
  texts_.add_written(path.size());
  return add_module(module);
}

bool ModuleMap::add_module(const Module& module) noexcept {
  while (first_free_ < modules_.size() && modules_[first_free_].id != 0) ++first_free_;
  if (first_free_ == modules_.size() && !modules_.push_back({})) return false;
  modules_[first_free_] = module;
  modules_[first_free_].id = ++last_id_;
  ++change_count_;
  return true;
}

std::uint32_t ModuleMap::find_or_add_image(const MapsLine& line, std::uint64_t header,
                                           ProcMemory& memory) noexcept {
  for (std::uint32_t index = 0; index < images_.size(); ++index) {
    const Image& image = images_[index];
    if (image.live && image.header == header && image.inode == line.inode &&
        image.device == line.device) {
      return index;
    }
  }
  Image image;
  image.header = header;
  image.device = line.device;
  image.inode = line.inode;
  image.live = true;
  if (memory.is_open()) {
    image.described = unwind::describe_image(header, memory.image_reader());
    image.tables = ImageTables(image.described);
  }
  std::uint32_t index = kNoImage;
  add_image(image, index);
  return index;
}

bool ModuleMap::add_image(const Image& image, std::uint32_t& index) noexcept {
  std::uint32_t place = 0;
  // Modules that were unmapped but not forgotten still refer to their images.
  const bool any_free = gone_count_ == forgotten_count_;
  const auto is_free = [](const Image& old) { return !old.live && !old.tables.has_memory(); };
  while (place < images_.size() && !(any_free && is_free(images_[place]))) ++place;
  if (place == images_.size() && !images_.push_back({})) return false;
  images_[place] = image;
  index = place;
  return true;
}

bool ModuleMap::drop_vanished(bool& changed) noexcept {
  for (Image& image : images_) image.live = false;
  live_.clear();
  for (std::uint32_t index = 0; index < modules_.size(); ++index) {
    Module& module = modules_[index];
    if (module.id == 0 || module.gone) continue;
    if (!module.seen) {
      module.gone = changed = true;
      ++change_count_;
      ++gone_count_;
      continue;
    }
    if (module.image != kNoImage) images_[module.image].live = true;
    if (!live_.push_back(index)) return false;
  }
  std::sort(live_.begin(), live_.end(), [this](std::uint32_t left, std::uint32_t right) {
    return modules_[left].start < modules_[right].start;
  });
  return true;
}

void ModuleMap::forget_gone() noexcept {
  if (forgotten_count_ == gone_count_) return;
  for (Module& module : modules_) {
    if (module.gone) module = {};
  }
  first_free_ = 0;
  forgotten_count_ = gone_count_;
  forget_paths();
}

// If most of the paths belong to forgotten modules, the others are moved to a new store.
void ModuleMap::forget_paths() noexcept {
  std::size_t used = 0;
  for (const Module& module : modules_) used += module.path_size;
  if (texts_.size() <= 2 * used + kPageBytes) return;
  MappedArray<char> kept;
  if (!kept.reserve(used)) return;
  for (Module& module : modules_) {
    if (module.id == 0) continue;
    std::memcpy(kept.data() + kept.size(), texts_.data() + module.path_begin, module.path_size);
    module.path_begin = static_cast<std::uint32_t>(kept.size());
    kept.add_written(module.path_size);
  }
  texts_.release();
  texts_ = kept;
}

std::size_t ModuleMap::kept_bytes() const noexcept {
  return modules_.size() * sizeof(Module) + images_.size() * sizeof(Image) + texts_.size();
}

// New code can appear in a known mapping, and a new mapping can contain known code.
bool ModuleMap::update_registered(ProcMemory& memory, bool& changed) noexcept {
  if (!changed && !is_outdated(memory, monotonic_now())) return true;
  if (changed) find_jit_descriptors();
  if (changed) find_runtimes(memory);
  if (registered_.is_unused()) return true;
  changed = true;
  bare_code_.clear();
  for (const std::uint32_t index : live_) {
    const Module& module = modules_[index];
    if (!is_bare(module)) continue;
    if (!bare_code_.push_back({module.start, module.end})) return false;
  }
  return registered_.rebuild(bare_code_.span(), memory);
}

void ModuleMap::find_jit_descriptors() noexcept {
  registered_.jit_interface().forget_descriptors();
  for (const Image& image : images_) {
    if (image.live && image.described.jit_descriptor != 0) {
      registered_.jit_interface().add_descriptor(image.described.jit_descriptor);
    }
  }
}

void ModuleMap::find_runtimes(ProcMemory& memory) noexcept {
  if (!memory.is_open() || !reads_runtimes_) return;
  runtimes_.begin_update();
  for (Image& image : images_) {
    if (!image.live || !image.may_have_runtime) continue;
    image.may_have_runtime =
        runtimes_.take(image.header, image.described.dynamic, image.described.load_bias, memory);
  }
  runtimes_.end_update();
}

// Until its table is built, an image counts as one that has a table.
bool ModuleMap::is_bare(const Module& module) const noexcept {
  const Image* const image = image_of(module);
  return image == nullptr || image->tables.has_no_table();
}

const Image* ModuleMap::image_of(const Module& module) const noexcept {
  return module.image == kNoImage ? nullptr : &images_[module.image];
}

}  // namespace swipr::agent
