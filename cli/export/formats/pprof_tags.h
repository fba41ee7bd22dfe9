// Field numbers of pprof's profile.proto.
// Source: https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include <protozero/types.hpp>

namespace swipr::exporters {

enum class ProfileTag : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum class ValueTypeTag : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class SampleTag : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class LabelTag : protozero::pbf_tag_type { kKey = 1, kStr = 2, kNum = 3, kNumUnit = 4 };
enum class MappingTag : protozero::pbf_tag_type {
  kId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFileOffset = 4,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum class LocationTag : protozero::pbf_tag_type {
  kId = 1,
  kMappingId = 2,
  kAddress = 3,
  kLine = 4
};
enum class LineTag : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };
enum class FunctionTag : protozero::pbf_tag_type {
  kId = 1,
  kName = 2,
  kSystemName = 3,
  kFilename = 4,
  kStartLine = 5,
};

}  // namespace swipr::exporters
