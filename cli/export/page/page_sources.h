// The text of source lines, as JSON for the page.
// Errors: kept by the sink. Files that cannot be read are left out.
#pragma once

#include <vector>

#include "cli/export/text/sink.h"
#include "cli/profile/group/stack_tree.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

// A member "sources" of a JSON object, with a comma behind it: by file, by line number, the text of
// each line that a place names, and no other. Files without the extension of a language, and files
// that were changed after the recording began, are left out. Bounds: 16 MiB per file, 200 bytes per
// line, 4 MiB of text in all.
void write_page_sources(const profile::Recording& recording,
                        const std::vector<profile::StackTree::Place>& places, Sink& sink);

}  // namespace swipr::exporters
