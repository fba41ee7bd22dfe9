#include "symbolize/symbolizer.h"

#include <exception>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "symbolize/files/debug_files.h"
#include "symbolize/module.h"
#include "symbolize/name_cache.h"
#include "symbolize/parallel_lookup.h"

namespace swipr::symbolize {

namespace {

// A few dozen programs of the largest kind.
constexpr std::uint64_t kMaxCacheBytes = std::uint64_t{512} << 20;

}  // namespace

class Symbolizer::Impl {
 public:
  Impl(Options options, std::shared_ptr<TextPool> texts)
      : texts_(std::move(texts)), options_(std::move(options)) {}

  ModuleHandle open_module(const ModuleSpec& spec) {
    const auto [entry, is_new] =
        handles_.try_emplace(std::tuple(spec.path, spec.build_id, spec.pid), modules_.size());
    if (is_new) modules_.push_back(open(spec));
    return static_cast<ModuleHandle>(entry->second);
  }

  std::vector<std::vector<SourceFunction>> find_all(std::span<const ModuleLookup> lookups) {
    std::optional<NameCache> cache;
    if (!options_.cache_folder.empty()) cache.emplace(options_.cache_folder, kMaxCacheBytes);
    return find_in_parallel(lookups, cache ? &*cache : nullptr, *texts_);
  }

  // Null for a handle that was never given out.
  Module* find_module(ModuleHandle handle) const {
    return handle < modules_.size() ? modules_[handle].get() : nullptr;
  }

 private:
  // Processes of one recording share most of their files, and with them the indexes.
  std::shared_ptr<Module> open(const ModuleSpec& spec) {
    ModuleFiles files = find_files(spec);
    if (!files.image) return std::make_shared<Module>(std::move(files), options_, *texts_);
    const std::string& id = files.image->build_id();
    const std::string identity = id.empty() ? files.image->identity() : id;
    if (identity.empty()) return std::make_shared<Module>(std::move(files), options_, *texts_);
    std::shared_ptr<Module>& shared = by_identity_[identity];
    if (shared == nullptr) shared = std::make_shared<Module>(std::move(files), options_, *texts_);
    return shared;
  }

  ModuleFiles find_files(const ModuleSpec& spec) const {
    try {
      return find_module_files(spec, options_);
    } catch (const std::exception& problem) {
      ModuleFiles none;
      none.note = spec.path + ": " + problem.what();
      return none;
    }
  }

  const std::shared_ptr<TextPool> texts_;
  const Options options_;
  std::map<std::tuple<std::string, std::string, std::int32_t>, std::size_t> handles_;
  std::vector<std::shared_ptr<Module>> modules_;
  std::map<std::string, std::shared_ptr<Module>> by_identity_;
};

Symbolizer::Symbolizer(Options options, std::shared_ptr<TextPool> texts)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(texts))) {}
Symbolizer::~Symbolizer() = default;

Symbolizer::ModuleHandle Symbolizer::open_module(const ModuleSpec& spec) {
  return impl_->open_module(spec);
}

std::vector<SourceFunction> Symbolizer::find_functions(ModuleHandle handle, FileOffset offset) {
  Module* module = impl_->find_module(handle);
  const auto address = module == nullptr ? std::nullopt : module->code_address(offset);
  if (!address) return {};
  try {
    module->load();
    auto functions = module->find_functions(*address, module->dwarf());
    if (module->dwarf() != nullptr) module->note_damage(*module->dwarf());
    return functions;
  } catch (const std::exception& problem) {  // memory: an image may claim any amount of symbols
    module->set_note(std::string("symbols not read: ") + problem.what());
    return {};
  }
}

std::vector<std::vector<SourceFunction>> Symbolizer::find_all(std::span<const Lookup> lookups) {
  std::vector<ModuleLookup> resolved;
  resolved.reserve(lookups.size());
  for (const Lookup& lookup : lookups) {
    Module* module = impl_->find_module(lookup.module);
    const auto address = module == nullptr ? std::nullopt : module->code_address(lookup.offset);
    resolved.push_back({address ? module : nullptr, address.value_or(ImageAddr{0})});
  }
  return impl_->find_all(resolved);
}

std::string Symbolizer::find_variable(ModuleHandle handle, ImageAddr address) {
  Module* module = impl_->find_module(handle);
  if (module == nullptr) return {};
  try {
    return module->find_variable(address);
  } catch (const std::exception& problem) {
    module->set_note(std::string("symbols not read: ") + problem.what());
    return {};
  }
}

std::vector<FunctionSymbol> Symbolizer::list_functions(ModuleHandle handle) {
  Module* module = impl_->find_module(handle);
  if (module == nullptr) return {};
  try {
    return module->list_functions();
  } catch (const std::exception& problem) {
    module->set_note(std::string("symbols not read: ") + problem.what());
    return {};
  }
}

std::vector<Symbolizer::LineFunctions> Symbolizer::find_line(ModuleHandle handle,
                                                             std::string_view file,
                                                             std::uint32_t line) {
  Module* module = impl_->find_module(handle);
  if (module == nullptr) return {};
  module->load();
  if (module->dwarf() == nullptr) return {};
  std::map<ImageAddr, LineFunctions> found;
  for (const ImageAddr address : module->dwarf()->find_line(file, line)) {
    auto functions = module->find_functions(address, module->dwarf());
    if (functions.empty() || functions.back().inlined) continue;
    const ImageAddr begin{address.value - functions.back().offset};
    found.try_emplace(begin, LineFunctions{begin, std::move(functions)});
  }
  std::vector<LineFunctions> result;
  for (auto& [begin, functions] : found) result.push_back(std::move(functions));
  return result;
}

std::optional<Signature> Symbolizer::find_signature(ModuleHandle handle, ImageAddr begin) {
  Module* module = impl_->find_module(handle);
  if (module == nullptr) return std::nullopt;
  try {
    module->load();
    return module->find_signature(begin);
  } catch (const std::exception& problem) {
    module->set_note(std::string("parameters not read: ") + problem.what());
    return std::nullopt;
  }
}

std::vector<Symbolizer::Inlined> Symbolizer::find_inlined(
    ModuleHandle handle, const std::function<bool(std::string_view)>& matches) {
  Module* module = impl_->find_module(handle);
  if (module == nullptr) return {};
  module->load();
  if (module->dwarf() == nullptr) return {};
  std::vector<Inlined> result;
  for (const auto& [name, into] : module->dwarf()->find_inlined(matches)) {
    result.push_back({name, into});
  }
  return result;
}

std::optional<ImageAddr> Symbolizer::function_start(ModuleHandle handle, FileOffset offset) {
  Module* module = impl_->find_module(handle);
  return module == nullptr ? std::nullopt : module->function_start(offset);
}

ImageAddr Symbolizer::image_address(ModuleHandle handle, FileOffset offset) {
  const Module* module = impl_->find_module(handle);
  return module == nullptr ? ImageAddr{offset.value} : module->image_address(offset);
}

FileOffset Symbolizer::file_offset(ModuleHandle handle, ImageAddr address) {
  const Module* module = impl_->find_module(handle);
  return module == nullptr ? FileOffset{address.value} : module->file_offset(address);
}

Symbolizer::Sources Symbolizer::sources(ModuleHandle handle) {
  Module* module = impl_->find_module(handle);
  return module == nullptr ? Sources() : module->sources();
}

std::string_view Symbolizer::note(ModuleHandle handle) const {
  const Module* module = impl_->find_module(handle);
  return module == nullptr ? std::string_view() : std::string_view(module->note());
}

}  // namespace swipr::symbolize
