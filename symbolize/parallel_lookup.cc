#include "symbolize/parallel_lookup.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "symbolize/base/parallel.h"

namespace swipr::symbolize {
namespace {

// With fewer lookups, starting threads costs more than it saves.
constexpr std::size_t kMinParallelLookups = 64;
// Limit of indexed DWARF per thread; indexes and tables of libdw take about the same memory.
constexpr std::uint64_t kMaxIndexedBytes = std::uint64_t{8} << 20;
// Of a unit that is larger than all others only itself: damaged ones can be.
constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{128} << 20;
constexpr std::size_t kSymbolBatch = 4096;  // lookups in modules without DWARF that go together

// A lookup, by what should be done together.
struct Placed {
  Module* module;
  std::uint32_t unit;  // of its DWARF; kNoUnit: none
  ImageAddr address;
  std::size_t index;  // in the request
};
constexpr std::uint32_t kNoUnit = 0xFFFFFFFFu;

struct Batch {
  std::size_t begin, end;
};

bool go_together(const Placed& left, const Placed& right) {
  return left.module == right.module && left.unit == right.unit;
}

std::vector<Batch> batches_of(const std::vector<Placed>& placed) {
  std::vector<Batch> batches;
  for (std::size_t begin = 0; begin < placed.size();) {
    std::size_t end = begin + 1;
    const std::size_t limit = placed[begin].unit == kNoUnit ? begin + kSymbolBatch : placed.size();
    while (end < std::min(limit, placed.size()) && go_together(placed[begin], placed[end])) ++end;
    batches.push_back({begin, end});
    begin = end;
  }
  return batches;
}

// State of one thread: its index of the current module.
class ModuleReader {
 public:
  explicit ModuleReader(std::mutex& notes) : notes_(&notes) {}
  ~ModuleReader() { leave(); }
  ModuleReader(const ModuleReader&) = delete;
  ModuleReader& operator=(const ModuleReader&) = delete;

  DwarfIndex* index_of(Module* module) {
    const bool full =
        index_ != nullptr && (index_->indexed_bytes() > kMaxIndexedBytes ||
                              index_->memory_bytes() > kMaxIndexBytes || index_->too_slow());
    if (module_ != module || full) {
      leave();
      module_ = module;
      const bool is_wanted = module->dwarf() != nullptr && !module->gave_up();
      if (is_wanted) index_ = module->dwarf()->another();
    }
    return index_.get();
  }

 private:
  void leave() {
    if (index_ == nullptr) return;
    const std::lock_guard lock(*notes_);
    module_->note_damage(*index_);
    index_.reset();
  }

  std::mutex* notes_;
  Module* module_ = nullptr;
  std::unique_ptr<DwarfIndex> index_;
};

class ParallelLookup {
 public:
  ParallelLookup(std::span<const ModuleLookup> lookups, const NameCache* cache, TextPool& texts)
      : lookups_(lookups),
        cache_(cache),
        texts_(texts),
        known_(lookups.size()),
        results_(lookups.size()) {
    threads_ = lookups.size() < kMinParallelLookups ? 1 : worth_of_threads();
  }

  std::vector<std::vector<SourceFunction>> run() {
    for (const ModuleLookup& lookup : lookups_) {
      if (lookup.module != nullptr) modules_[lookup.module];
    }
    if (cache_ != nullptr) read_cache();
    load_modules();
    place();
    const std::vector<Batch> batches = batches_of(placed_);
    std::atomic<std::size_t> next = 0;
    // One reader per thread: for_each_index hands out threads, not batches.
    for_each_index(std::min(threads_, batches.size()), threads_, [&](std::size_t) {
      ModuleReader reader(notes_);
      for (std::size_t at = next++; at < batches.size(); at = next++) {
        look_up(batches[at], reader);
      }
    });
    if (cache_ != nullptr) write_cache();
    return std::move(results_);
  }

 private:
  struct Cached {
    std::string signature;  // empty: not kept
    NameCache::Entries entries;
    bool complete = true;  // nothing else was looked up
  };
  // An image may claim any amount of symbols: memory may run out.
  template <typename Work>
  void guarded(Module* module, const Work& work) {
    try {
      work();
    } catch (const std::exception& problem) {
      const std::lock_guard lock(notes_);
      module->set_note(std::string("symbols not read: ") + problem.what());
    }
  }

  template <typename Work>
  void for_each_module(const Work& work) {
    std::vector<Module*> modules;
    for (const auto& [module, cached] : modules_) modules.push_back(module);
    for_each_index(modules.size(), threads_, [&](std::size_t index) {
      guarded(modules[index], [&] { work(modules[index], modules_.at(modules[index])); });
    });
  }

  void read_cache() {
    for_each_module([this](Module* module, Cached& cached) {
      cached.signature = module->signature();
      if (cached.signature.empty()) return;
      cached.entries = cache_->load(module->build_id(), cached.signature, texts_);
    });
    for (std::size_t index = 0; index < lookups_.size(); ++index) {
      if (lookups_[index].module == nullptr) continue;
      const NameCache::Entries& entries = modules_.at(lookups_[index].module).entries;
      const auto found = entries.find(lookups_[index].address.value);
      known_[index] = found != entries.end();
      if (known_[index]) results_[index] = found->second;
    }
  }

  // Incomplete results are not cached, because a later lookup may find more.
  void write_cache() {
    for (std::size_t index = 0; index < lookups_.size(); ++index) {
      if (lookups_[index].module == nullptr || known_[index]) continue;
      Cached& cached = modules_.at(lookups_[index].module);
      cached.complete = false;
      if (!cached.signature.empty()) {
        cached.entries[lookups_[index].address.value] = results_[index];
      }
    }
    for_each_module([this](Module* module, Cached& cached) {
      if (cached.complete || cached.signature.empty() || !module->note().empty()) return;
      cache_->store(module->build_id(), cached.signature, cached.entries);
    });
  }

  void load_modules() {
    std::set<Module*> wanted;
    for (std::size_t index = 0; index < lookups_.size(); ++index) {
      if (lookups_[index].module != nullptr && !known_[index])
        wanted.insert(lookups_[index].module);
    }
    for_each_module([&](Module* module, Cached&) {
      if (wanted.contains(module)) module->load();
    });
  }

  void place() {
    placed_.reserve(lookups_.size());
    for (std::size_t index = 0; index < lookups_.size(); ++index) {
      const auto& [module, address] = lookups_[index];
      if (module == nullptr || known_[index]) continue;
      const DwarfIndex* dwarf = module->dwarf();
      const auto unit = dwarf == nullptr ? std::nullopt : dwarf->unit_of(address);
      placed_.push_back({module, unit.value_or(kNoUnit), address, index});
    }
    std::sort(placed_.begin(), placed_.end(), [](const Placed& left, const Placed& right) {
      return std::tuple(left.module, left.unit, left.address.value) <
             std::tuple(right.module, right.unit, right.address.value);
    });
  }

  void look_up(const Batch& batch, ModuleReader& reader) {
    guarded(placed_[batch.begin].module, [&] {
      const Module* module = placed_[batch.begin].module;
      DwarfIndex* dwarf = placed_[batch.begin].unit == kNoUnit
                              ? nullptr
                              : reader.index_of(placed_[batch.begin].module);
      const std::vector<SourceFunction>* last = nullptr;
      ImageAddr last_address{0};
      for (std::size_t at = batch.begin; at < batch.end; ++at) {
        const Placed& lookup = placed_[at];
        auto& result = results_[lookup.index];
        const bool again = last != nullptr && last_address == lookup.address;
        result = again ? *last : module->find_functions(lookup.address, dwarf);
        last = &result;
        last_address = lookup.address;
      }
    });
  }

  std::span<const ModuleLookup> lookups_;
  const NameCache* cache_;
  TextPool& texts_;
  std::map<Module*, Cached> modules_;
  std::vector<bool> known_;  // from the cache
  std::vector<std::vector<SourceFunction>> results_;
  std::size_t threads_ = 1;
  std::vector<Placed> placed_;
  std::mutex notes_;
};

}  // namespace

std::vector<std::vector<SourceFunction>> find_in_parallel(std::span<const ModuleLookup> lookups,
                                                          const NameCache* cache, TextPool& texts) {
  return ParallelLookup(lookups, cache, texts).run();
}

}  // namespace swipr::symbolize
