// Text of single options → values, with the message that a person needs when it is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/options/options.h"
#include "common/host/result.h"

namespace swipr::options {

host::Result<Format> parse_format(std::string_view text);
// The same without raw, for conversions.
host::Result<Format> parse_target_format(std::string_view text);
// The format that the end of a file's name tells. Errors: none, or several.
host::Result<Format> find_format_of_file(std::string_view name);
host::Result<Weight> parse_weight(std::string_view text);
host::Result<profile::Mode> parse_mode(std::string_view text);
host::Result<bool> parse_jitter(std::string_view text);
// Names separated by commas.
host::Result<profile::StateSet> parse_states(std::string_view text);
host::Result<profile::FrameKinds> parse_frame_kinds(std::string_view text);
host::Result<StateFrames> parse_state_frames(std::string_view text);
host::Result<PprofLabels> parse_pprof_labels(std::string_view text);
// KEY=PATTERN
host::Result<profile::LabelPattern> parse_label_pattern(std::string_view text);
// A positive number of ticks.
host::Result<std::uint64_t> parse_count(std::string_view text);
// A positive number of lines.
host::Result<std::size_t> parse_top(std::string_view text);
host::Result<Pid> parse_pid(std::string_view text);
// A positive duration.
host::Result<std::chrono::nanoseconds> parse_length(std::string_view text);
// A duration since the beginning, 0 included.
host::Result<std::chrono::nanoseconds> parse_moment(std::string_view text);
host::Result<std::chrono::nanoseconds> parse_interval(std::string_view text);
// Share of one CPU, in thousandths: "10%", "0.5%".
host::Result<std::uint32_t> parse_overhead(std::string_view text);
// The same of all CPUs, up to 100%.
host::Result<std::uint32_t> parse_host_overhead(std::string_view text);
// Ticks per second → interval; "100", "100Hz", "0.5".
host::Result<std::chrono::nanoseconds> parse_rate(std::string_view text);

}  // namespace swipr::options
