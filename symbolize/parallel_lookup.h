// Many lookups in many modules, distributed over the CPUs.
#pragma once

#include <span>
#include <vector>

#include "symbolize/module.h"
#include "symbolize/name_cache.h"

namespace swipr::symbolize {

struct ModuleLookup {
  Module* module;  // null: the answer is empty
  ImageAddr address;
};

// Modules are loaded, then looked up unit by unit: each unit is indexed by one thread and at most
// once per a few dozen megabytes of others, after which a thread's indexes are dropped.
// What `cache` has is not read again, and what it lacks is added; null: no cache.
// Shape: parallel to `lookups`. What cannot be read is noted in its module.
std::vector<std::vector<SourceFunction>> find_in_parallel(std::span<const ModuleLookup> lookups,
                                                          const NameCache* cache, TextPool& texts);

}  // namespace swipr::symbolize
