// A profile in the format of OpenTelemetry. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/push/requests/request.h"
#include "common/host/result.h"

namespace swipr::push {

// Body of an export request with one profile: the last sample type of `pprof` (not compressed).
// CPU time becomes "samples" of 1 ns each: Pyroscope names a profile after its sample type and its
// period, multiplies both, and its dashboards look for the result of samples and CPU time.
// `labels`: of store_labels(); those of the service, host, container and pod get the names of the
// semantic conventions. `id`: 16 bytes.
// Source: opentelemetry/proto/profiles/v1development/profiles.proto of 2026-08. Entry 0 of each
// table of the dictionary is the zero value.
// Errors: not a pprof file.
host::Result<std::string> otlp_profile(std::string_view pprof, const Labels& labels,
                                       std::string_view id);

// What a server with status 200 says it did not store, from the body of its answer; nullopt:
// nothing. It must not be sent again. Source: ExportProfilesServiceResponse in
// opentelemetry/proto/collector/profiles/v1development/profiles_service.proto.
std::optional<std::string> otlp_rejection(std::string_view body);

// `profile`: gzipped.
Request otlp_request(const StoreUrl& url, std::string profile);

}  // namespace swipr::push
