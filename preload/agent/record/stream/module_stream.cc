#include "preload/agent/record/stream/module_stream.h"

#include "common/wire/runtimes.h"

namespace swipr::agent {

namespace {

bool write_module(const ModuleMap& modules, const Module& module, StreamWriter& stream) noexcept {
  const Image* image = modules.image_of(module);
  wire::ModuleRecord record{.module_id = module.id,
                            .start = module.start,
                            .size_bytes = module.end - module.start,
                            .file_offset = module.file_offset,
                            .load_bias = module.start - module.file_offset,
                            .build_id = {},
                            .path = modules.path_of(module)};
  if (image != nullptr && image->described.status != unwind::BuildStatus::kUnreadable) {
    record.load_bias = image->described.load_bias;
    record.build_id = std::span(image->described.build_id, image->described.build_id_bytes);
  }
  return stream.put_record(record);
}

std::uint64_t module_of(const ModuleMap& modules, const FoundRuntime& runtime) noexcept {
  for (const Module& module : modules.modules()) {
    const Image* const image = module.id == 0 ? nullptr : modules.image_of(module);
    if (image != nullptr && image->header == runtime.header) return module.id;
  }
  return 0;
}

}  // namespace

void ModuleStream::begin(const ModuleMap& modules, StreamWriter& stream) noexcept {
  const bool written = write_new(modules, false, stream) && write_runtimes(modules, stream);
  if (written) change_count_ = modules.change_count();
  gone_count_ = modules.gone_count();
  last_at_start_ = modules.last_id();
  behind_ = !written;
}

bool ModuleStream::write_new(const ModuleMap& modules, StreamWriter& stream) noexcept {
  return write_new(modules, true, stream) && write_new(modules, false, stream) &&
         write_runtimes(modules, stream);
}

bool ModuleStream::take_gone(const ModuleMap& modules) noexcept {
  if (gone_count_ == modules.gone_count()) return false;
  gone_count_ = modules.gone_count();
  return true;
}

void ModuleStream::end_sync(bool written, const ModuleMap& modules, StreamWriter& stream) noexcept {
  behind_ = !written || !write_gone(modules, stream);
  if (!behind_) change_count_ = modules.change_count();
}

bool ModuleStream::write_runtimes(const ModuleMap& modules, StreamWriter& stream) noexcept {
  for (const FoundRuntime& runtime : modules.runtimes().runtimes()) {
    if (runtime.id <= told_runtime_) continue;
    const wire::RuntimeRecord record{
        .language = runtime.language,
        .version = runtime.version,
        .state = runtime.is_refused() ? wire::RuntimeState::kRefused : wire::RuntimeState::kRead,
        .reason = runtime.refusal,
        .module_id = module_of(modules, runtime)};
    if (!stream.put_record(record)) return false;
    told_runtime_ = runtime.id;
  }
  return true;
}

// False: some are still missing in the stream.
bool ModuleStream::write_new(const ModuleMap& modules, bool gone, StreamWriter& stream) noexcept {
  const std::span<const Module> slots = modules.modules();
  if (told_.size() < slots.size() && !told_.resize(slots.size())) return false;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const Module& module = slots[slot];
    std::uint64_t& told = told_[slot];
    if (module.id == 0 || module.id == told || module.gone != gone) continue;
    if (gone && module.id <= last_at_start_) continue;
    // The slot belonged to another module, whose end is not in the stream yet.
    if (told != 0 && !write_gone(told, stream)) return false;
    if (!write_module(modules, module, stream)) return false;
    told = module.id;
  }
  return true;
}

// Writes the end of modules that the process no longer has. False: not all.
bool ModuleStream::write_gone(const ModuleMap& modules, StreamWriter& stream) noexcept {
  const std::span<const Module> slots = modules.modules();
  for (std::size_t slot = 0; slot < told_.size(); ++slot) {
    const bool mapped = slot < slots.size() && slots[slot].id == told_[slot] && !slots[slot].gone;
    if (told_[slot] != 0 && !mapped && !write_gone(told_[slot], stream)) return false;
  }
  return true;
}

// Writes the end of this module and clears its id.
bool ModuleStream::write_gone(std::uint64_t& told, StreamWriter& stream) noexcept {
  if (!stream.put_record(wire::ModuleGoneRecord{.module_id = told})) return false;
  told = 0;
  return true;
}

}  // namespace swipr::agent
