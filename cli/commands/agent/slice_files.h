// The folder of the files of slices: profile_TIME.col and others, and links to the last ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/host/result.h"

namespace swipr::commands {

// Creates the folder and its parents if they do not exist.
// Errors: it cannot be written.
host::Result<void> make_output_folder(const std::string& folder);

// A name for the files of a slice that no file in the folder has: "profile_2026-01-31T12:00:00".
std::string find_slice_name(const std::string& folder, std::string_view end_time);

// Points the link `name` in the folder to a file there. Something else of that name is replaced,
// never followed. A reader sees either the old or the new link.
host::Result<void> replace_link(const std::string& folder, const std::string& name,
                                const std::string& file);

// Removes all but the files of the newest `keep` slices, and before them the links to them. Other
// names are left alone. Returns the number of files that were removed.
std::size_t remove_old_slices(const std::string& folder, std::size_t keep);

// Which of these names belong to slices older than the newest `keep`. Pure.
std::vector<std::string> old_slice_files(std::vector<std::string> names, std::size_t keep);

}  // namespace swipr::commands
