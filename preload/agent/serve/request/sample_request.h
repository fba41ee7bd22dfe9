// Parses requests for recordings from JSON bodies and query strings, and checks limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/record/recording_request.h"

namespace swipr::agent {

enum class AnswerFormat : std::uint8_t { kRaw, kPerf, kPprof, kCollapsed };

struct SampleRequest {
  RecordingRequest recording;
  AnswerFormat format = AnswerFormat::kPerf;
};

// All of these: false: refused; `error` names the field and the reason. Tasks and mode cpu exclude
// each other.

// Body of POST /sample: numberOfSamples (100), timeInterval (10 ms), format (perf), mode (wall),
// maxOverhead (2%), jitter (true), tasks (false), arguments (true).
bool parse_sample_request(std::span<char> body, SampleRequest& out, TextWriter& error) noexcept;
// Body of POST /v1/record: numberOfSamples and duration (no limit), timeInterval (10 ms), mode
// (wall), maxOverhead (2%), jitter (true), tasks (false), arguments (true), sampling (true),
// probes, latencyInterval (1 s).
bool parse_record_request(std::span<char> body, RecordingRequest& out, TextWriter& error) noexcept;
// Body of POST /v1/file: the same, and path, which is required and absolute.
bool parse_file_request(std::span<char> body, RecordingRequest& out, TextWriter& path,
                        TextWriter& error) noexcept;
// Query of GET /debug/pprof/profile: seconds 0…1000 (30), rate 1…1000 (100), mode (wall),
// jitter on or off (on).
bool parse_profile_query(std::string_view query, RecordingRequest& out, TextWriter& error) noexcept;

}  // namespace swipr::agent
