// Decodes a gzipped profile.proto into text, for people and for golden files.
#pragma once

#include <string>
#include <string_view>

namespace swipr::golden {

std::string gunzip(std::string_view bytes);

// One line per message field, strings resolved, in the order sample types, samples, mappings,
// locations, functions, the rest. Throws what protozero throws.
std::string pprof_text(std::string_view profile);

}  // namespace swipr::golden
