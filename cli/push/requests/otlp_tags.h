// Field numbers of what otlp.cc reads and writes.
#pragma once

#include <protozero/types.hpp>

namespace swipr::push {

using Tag = protozero::pbf_tag_type;

// Source: profile.proto of google/pprof.
namespace pprof {
inline constexpr Tag kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5;
inline constexpr Tag kString = 6, kTime = 9, kDuration = 10, kPeriodType = 11, kPeriod = 12;
inline constexpr Tag kTypeName = 1, kTypeUnit = 2;
inline constexpr Tag kSampleLocation = 1, kSampleValue = 2, kSampleLabel = 3;
inline constexpr Tag kLabelKey = 1, kLabelText = 2;
inline constexpr Tag kId = 1;  // of mappings, locations and functions
inline constexpr Tag kStart = 2, kLimit = 3, kOffset = 4, kFile = 5, kBuildId = 6;
inline constexpr Tag kLocationMapping = 2, kAddress = 3, kLine = 4;
inline constexpr Tag kLineFunction = 1, kLineNumber = 2;
inline constexpr Tag kName = 2, kSystemName = 3, kFunctionFile = 4, kStartLine = 5;
}  // namespace pprof

// Source: opentelemetry/proto/{profiles/v1development,resource/v1,common/v1}.
namespace otlp {
inline constexpr Tag kResources = 1, kDictionary = 2;  // of the request
inline constexpr Tag kMappings = 1, kLocations = 2, kFunctions = 3, kLinks = 4, kStrings = 5;
inline constexpr Tag kAttributes = 6, kStacks = 7;
inline constexpr Tag kResource = 1, kScopes = 2, kProfiles = 2, kScope = 1;
inline constexpr Tag kResourceAttribute = 1, kKey = 1, kValue = 2, kText = 1, kScopeName = 1;
inline constexpr Tag kScopeVersion = 2;
inline constexpr Tag kSampleType = 1, kSamples = 2, kTime = 3, kDuration = 4, kPeriodType = 5;
inline constexpr Tag kPeriod = 6, kProfileId = 7;
inline constexpr Tag kTypeName = 1, kTypeUnit = 2;
inline constexpr Tag kSampleAttributes = 2;
inline constexpr Tag kStackIndex = 1, kSampleValues = 4, kLocationIndices = 1;
inline constexpr Tag kStart = 1, kLimit = 2, kOffset = 3, kFile = 4, kMappingAttributes = 5;
inline constexpr Tag kLocationMapping = 1, kAddress = 2, kLine = 3;
inline constexpr Tag kLineFunction = 1, kLineNumber = 2;
inline constexpr Tag kName = 1, kSystemName = 2, kFunctionFile = 3, kStartLine = 4;
}  // namespace otlp

}  // namespace swipr::push
