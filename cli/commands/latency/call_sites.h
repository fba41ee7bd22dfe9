// The calls that a line of source code makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "common/core/addresses.h"
#include "common/host/result.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

struct CallSite {
  ImageAddr return_address;
  std::string path;  // of its module, as the process sees it
  std::string build_id;
};

// Of the functions that have code of this line, inlined ones included. `place` is FILE:LINE.
// What looks like a call but is none may be among them: nothing returns there.
// Errors: no such line; no call in it.
host::Result<std::vector<CallSite>> find_call_sites(const profile::Recording& process,
                                                    const std::vector<std::uint32_t>& modules,
                                                    symbolize::Symbolizer& symbolizer,
                                                    const std::string& place);

// Where a call instruction may end, by its bytes: indexes into `code`, which begins at `begin`; the
// targets of direct calls are in `[begin − reach, begin + reach)`. Pure.
std::vector<std::size_t> find_call_ends(std::span<const std::uint8_t> code, std::uint64_t begin,
                                        std::uint64_t reach);
// The same of aarch64's code.
std::vector<std::size_t> find_call_ends_of_aarch64(std::span<const std::uint8_t> code,
                                                   std::uint64_t begin, std::uint64_t reach);

}  // namespace swipr::commands
