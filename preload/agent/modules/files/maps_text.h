// The text of /proc/self/maps, and the images that its mappings of code belong to.
// Context: control thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_files.h"

namespace swipr::agent {

// Replaces what is in `out`. False: unreadable or no memory.
bool read_maps_text(MappedArray<char>& out) noexcept;

// take(line, header) for each mapping of code: `header` is the run-time address of the ELF header
// of its image, 0 if it belongs to none. False: a call was false, and it was the last.
template <typename Take>
bool for_each_code_mapping(std::string_view text, Take take) noexcept {
  // The loader maps an image's segments in ascending order, the ELF header first.
  MapsLine first{};
  while (!text.empty()) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    MapsLine line;
    const bool understood = parse_maps_line(leading(text, line_end), line);
    text.remove_prefix(std::min(line_end + 1, text.size()));
    if (!understood) continue;
    if (line.offset == 0 && !line.path.empty()) first = line;
    if (!line.executable || line.path == "[vsyscall]") continue;
    const bool same_image = !line.path.empty() && line.inode == first.inode &&
                            line.device == first.device && line.path == first.path;
    if (!take(line, same_image ? first.start : 0)) return false;
  }
  return true;
}

}  // namespace swipr::agent
