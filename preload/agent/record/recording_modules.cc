// Which modules the stream of a recording knows.
#include "preload/agent/record/recording.h"

namespace swipr::agent {

void Recording::sync_modules(const ModuleMap& modules, ThreadList& threads) noexcept {
  sync_code(modules.jit_interface());
  if (module_change_count_ == modules.change_count()) return;
  // What appeared comes first: stacks that wait to be written may name it. What has gone since
  // precedes what is mapped now, which may have the same addresses.
  bool written = write_new_modules(modules, true) && write_new_modules(modules, false);
  if (written && module_gone_count_ != modules.gone_count()) {
    start_stack_generation(threads);
    module_gone_count_ = modules.gone_count();
  }
  if (written) look_again_at_broken_stacks();
  written = written && write_gone_modules(modules);
  if (written) module_change_count_ = modules.change_count();
  modules_behind_ = !written;
}

// A walk that ended in code that was not known then can come further now.
void Recording::look_again_at_broken_stacks() noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    RecordedThread& thread = threads_[place];
    if (!holds(thread) || (stacks_.stack(thread.stack).flags & wire::kStackBroken) == 0) continue;
    end_open_run(place, thread);
    thread.run = RecordedThread::Run::kNone;
  }
}

void Recording::begin_modules(const ModuleMap& modules) noexcept {
  const bool written = write_new_modules(modules, false);
  if (written) module_change_count_ = modules.change_count();
  module_gone_count_ = modules.gone_count();
  last_module_at_start_ = modules.last_id();
  modules_behind_ = !written;
}

// False: not all of those that the stream lacks.
bool Recording::write_new_modules(const ModuleMap& modules, bool gone) noexcept {
  const std::span<const Module> slots = modules.modules();
  if (told_modules_.size() < slots.size() && !told_modules_.resize(slots.size())) return false;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const Module& module = slots[slot];
    std::uint64_t& told = told_modules_[slot];
    if (module.id == 0 || module.id == told || module.gone != gone) continue;
    if (gone && module.id <= last_module_at_start_) continue;
    // The slot was another module's, of which the stream has not been told that it is gone.
    if (told != 0 && !write_gone(told)) return false;
    if (!write_module(modules, module)) return false;
    told = module.id;
  }
  return true;
}

// What the stream has and the process no longer. False: not all.
bool Recording::write_gone_modules(const ModuleMap& modules) noexcept {
  const std::span<const Module> slots = modules.modules();
  for (std::size_t slot = 0; slot < told_modules_.size(); ++slot) {
    const bool mapped =
        slot < slots.size() && slots[slot].id == told_modules_[slot] && !slots[slot].gone;
    if (told_modules_[slot] != 0 && !mapped && !write_gone(told_modules_[slot])) return false;
  }
  return true;
}

// Takes the id out of what the stream knows.
bool Recording::write_gone(std::uint64_t& told) noexcept {
  const wire::ModuleGoneRecord record{.module_id = told};
  if (!writer_.put([&record](wire::Encoder& out) { wire::encode(out, record); })) return false;
  told = 0;
  return true;
}

bool Recording::write_module(const ModuleMap& modules, const Module& module) noexcept {
  const Image* image = modules.image_of(module);
  wire::ModuleRecord record{.module_id = module.id,
                            .start = module.start,
                            .size_bytes = module.end - module.start,
                            .file_offset = module.file_offset,
                            .load_bias = module.start - module.file_offset,
                            .build_id = {},
                            .path = modules.path_of(module)};
  if (image != nullptr && image->built.status != unwind::BuildStatus::kUnreadable) {
    record.load_bias = image->built.load_bias;
    record.build_id = std::span(image->built.build_id, image->built.build_id_bytes);
  }
  return writer_.put([&record](wire::Encoder& out) { wire::encode(out, record); });
}

}  // namespace swipr::agent
