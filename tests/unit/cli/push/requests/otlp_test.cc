#include "cli/push/requests/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "cli/push/requests/otlp_tags.h"

namespace swipr::push {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using testing::ElementsAre;

void add_type(pbf_writer& out, Tag tag, std::uint64_t name, std::uint64_t unit) {
  pbf_writer type(out, tag);
  type.add_uint64(pprof::kTypeName, name);
  type.add_uint64(pprof::kTypeUnit, unit);
}

// One function "work" with 5 ns and an id that is not its place in the file.
std::string small_pprof(const std::string& type) {
  std::string bytes;
  pbf_writer out(bytes);
  add_type(out, pprof::kSampleType, 1, 2);
  add_type(out, pprof::kPeriodType, 1, 2);
  {
    pbf_writer sample(out, pprof::kSample);
    const std::vector<std::uint64_t> locations{7};
    const std::vector<std::int64_t> values{5};
    sample.add_packed_uint64(pprof::kSampleLocation, locations.begin(), locations.end());
    sample.add_packed_int64(pprof::kSampleValue, values.begin(), values.end());
    pbf_writer label(sample, pprof::kSampleLabel);
    label.add_uint64(pprof::kLabelKey, 4);
    label.add_uint64(pprof::kLabelText, 5);
  }
  {
    pbf_writer location(out, pprof::kLocation);
    location.add_uint64(pprof::kId, 7);
    pbf_writer line(location, pprof::kLine);
    line.add_uint64(pprof::kLineFunction, 9);
  }
  {
    pbf_writer function(out, pprof::kFunction);
    function.add_uint64(pprof::kId, 9);
    function.add_uint64(pprof::kName, 3);
  }
  for (const std::string& text :
       {std::string(), type, std::string("nanoseconds"), std::string("work"),
        std::string("endpoint"), std::string("/cart")}) {
    out.add_string(pprof::kString, text);
  }
  out.add_int64(pprof::kPeriod, 10'000'000);
  return bytes;
}

std::vector<pbf_reader> messages(pbf_reader from, Tag tag) {
  std::vector<pbf_reader> found;
  while (from.next()) {
    if (from.tag() == tag) {
      found.push_back(from.get_message());
    } else {
      from.skip();
    }
  }
  return found;
}

std::vector<std::string> texts(pbf_reader from, Tag tag) {
  std::vector<std::string> found;
  for (const pbf_reader& each : messages(from, tag)) found.push_back(std::string(each.data()));
  return found;
}

std::int64_t number(pbf_reader from, Tag tag) {
  std::int64_t value = 0;
  while (from.next()) {
    if (from.tag() == tag) {
      value = from.get_int64();
    } else {
      from.skip();
    }
  }
  return value;
}

struct Sent {
  explicit Sent(const std::string& type)
      : bytes(*otlp_profile(small_pprof(type), {{"__name__", "m"}, {"service_name", "shop"}},
                            "0123456789abcdef")) {
    const pbf_reader request(bytes);
    resource = messages(request, otlp::kResources).at(0);
    dictionary = messages(request, otlp::kDictionary).at(0);
    const pbf_reader scope = messages(resource, otlp::kScopes).at(0);
    profile = messages(scope, otlp::kProfiles).at(0);
    strings = texts(dictionary, otlp::kStrings);
  }
  std::string type(Tag tag) const {
    const pbf_reader found = messages(profile, tag).at(0);
    return strings.at(static_cast<std::size_t>(number(found, otlp::kTypeName)));
  }
  std::string bytes;
  pbf_reader resource, dictionary, profile;
  std::vector<std::string> strings;
};

TEST(OtlpProfile, HasCpuTimeAsSamplesOfOneNanosecond) {
  const Sent sent("cpu");
  EXPECT_EQ(sent.type(otlp::kSampleType), "samples");
  EXPECT_EQ(sent.type(otlp::kPeriodType), "cpu");
  EXPECT_EQ(number(sent.profile, otlp::kPeriod), 1);
  const pbf_reader sample = messages(sent.profile, otlp::kSamples).at(0);
  EXPECT_EQ(texts(sample, otlp::kSampleValues), std::vector<std::string>{"\x05"});
  EXPECT_EQ(number(sample, otlp::kStackIndex), 1);
}

TEST(OtlpProfile, KeepsOtherTypesAndTheirPeriod) {
  const Sent sent("wall");
  EXPECT_EQ(sent.type(otlp::kSampleType), "wall");
  EXPECT_EQ(number(sent.profile, otlp::kPeriod), 10'000'000);
}

TEST(OtlpProfile, RefersToPlacesInTablesThatBeginWithNothing) {
  const Sent sent("cpu");
  for (const Tag table : {otlp::kMappings, otlp::kLocations, otlp::kFunctions, otlp::kLinks,
                          otlp::kStrings, otlp::kAttributes, otlp::kStacks}) {
    EXPECT_EQ(texts(sent.dictionary, table).at(0), "");
  }
  const pbf_reader stack = messages(sent.dictionary, otlp::kStacks).at(1);
  EXPECT_EQ(texts(stack, otlp::kLocationIndices), std::vector<std::string>{"\x01"});
  const pbf_reader location = messages(sent.dictionary, otlp::kLocations).at(1);
  const pbf_reader line = messages(location, otlp::kLine).at(0);
  EXPECT_EQ(number(line, otlp::kLineFunction), 1);
  const pbf_reader function = messages(sent.dictionary, otlp::kFunctions).at(1);
  EXPECT_EQ(sent.strings.at(static_cast<std::size_t>(number(function, otlp::kName))), "work");
}

TEST(OtlpProfile, HasLabelsAsAttributesOfSamples) {
  const Sent sent("cpu");
  const pbf_reader sample = messages(sent.profile, otlp::kSamples).at(0);
  EXPECT_EQ(texts(sample, otlp::kSampleAttributes), std::vector<std::string>{"\x01"});
  const pbf_reader attribute = messages(sent.dictionary, otlp::kAttributes).at(1);
  EXPECT_EQ(sent.strings.at(static_cast<std::size_t>(number(attribute, otlp::kKey))), "endpoint");
  EXPECT_EQ(texts(messages(attribute, otlp::kValue).at(0), otlp::kText),
            std::vector<std::string>{"/cart"});
}

TEST(OtlpProfile, NamesItsResourceAsTheConventionsDo) {
  const Sent sent("cpu");
  std::vector<std::string> keys;
  const pbf_reader resource = messages(sent.resource, otlp::kResource).at(0);
  for (const pbf_reader& attribute : messages(resource, otlp::kResourceAttribute)) {
    keys.push_back(texts(attribute, otlp::kKey).at(0));
  }
  EXPECT_THAT(keys, ElementsAre("service.name"));
}

TEST(OtlpProfile, IsNotMadeOfOtherBytes) {
  EXPECT_FALSE(otlp_profile("\x0a\xff\xff", {}, "0123456789abcdef"));
}

TEST(OtlpRejection, IsWhatTheServerDidNotStore) {
  using namespace std::string_view_literals;
  EXPECT_EQ(otlp_rejection("\x0a\x08\x08\x02\x12\x04"
                           "full"sv),
            "2 profiles not stored: full");
  EXPECT_EQ(otlp_rejection("\x0a\x02\x08\x01"sv), "1 profile not stored");
  EXPECT_EQ(otlp_rejection(""sv), std::nullopt);
  EXPECT_EQ(otlp_rejection("\x0a\x06\x12\x04slow"sv), std::nullopt);  // a warning
  EXPECT_EQ(otlp_rejection("\x0a\x02\x08\x00"sv), std::nullopt);
  EXPECT_EQ(otlp_rejection("{}"sv), std::nullopt);
  EXPECT_EQ(otlp_rejection("\x0a\xff"sv), std::nullopt);
}

TEST(OtlpRequest, HasTheCollectorsPath) {
  const Request request = otlp_request(*parse_store_url("otlp+http://x:4318/prefix"), "bytes");
  EXPECT_EQ(request.path, "/prefix/v1development/profiles");
  EXPECT_EQ(request.body, "bytes");
}

}  // namespace
}  // namespace swipr::push
