#include "preload/agent/serve/request/sample_request.h"

#include <gtest/gtest.h>
#include <limits.h>

#include <string>

namespace swipr::agent {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::nanoseconds;

std::string sample_error(std::string body) {
  SampleRequest request;
  FixedText<512> error;
  return parse_sample_request(body, request, error) ? "" : std::string(error.view());
}

TEST(AgentSampleRequest, ReadsFieldsAndIgnoresUnknownOnes) {
  std::string body =
      R"({"numberOfSamples":7,"timeInterval":"20 ms","format":"pprofSymbolized","symbolizer":[1]})";
  SampleRequest request;
  FixedText<512> error;
  ASSERT_TRUE(parse_sample_request(body, request, error)) << error.c_str();
  EXPECT_EQ(request.recording.ticks, 7u);
  EXPECT_EQ(request.recording.interval, 20ms);
  EXPECT_EQ(request.format, AnswerFormat::kPprof);
}

TEST(AgentSampleRequest, ReadsWhereStringsAre) {
  const auto error_of = [](std::string body) {
    RecordingRequest request;
    FixedText<512> error;
    return parse_record_request(body, request, error) ? "" : std::string(error.view());
  };
  std::string body = R"({"strings":"0100000\n0000004\n"})";
  RecordingRequest request;
  FixedText<512> error;
  ASSERT_TRUE(parse_record_request(body, request, error)) << error.c_str();
  EXPECT_EQ(request.strings, "0100000\n0000004\n");
  EXPECT_EQ(error_of(R"({"strings":""})"), "");
  for (const char* damaged : {R"({"strings":1})", R"({"strings":"0100000"})",
                              R"({"strings":"9000000\n"})", R"({"strings":"0100000\n1"})"}) {
    EXPECT_NE(error_of(damaged), "") << damaged;
  }
  std::string many = R"({"strings":")";
  for (int line = 0; line < 33; ++line) many += R"(0000000\n)";
  EXPECT_NE(error_of(many + "\"}"), "");
}

TEST(AgentSampleRequest, LeavesArgumentsOutWhenAsked) {
  std::string body = R"({"arguments":false})";
  FixedText<512> error;
  RecordingRequest recording;
  EXPECT_FALSE(recording.omits_arguments);
  ASSERT_TRUE(parse_record_request(body, recording, error)) << error.c_str();
  EXPECT_TRUE(recording.omits_arguments);
  SampleRequest request;
  body = R"({"arguments":false})";
  ASSERT_TRUE(parse_sample_request(body, request, error));
  EXPECT_TRUE(request.recording.omits_arguments);
  EXPECT_TRUE(sample_error(R"({"arguments":"no"})").starts_with("arguments: "));
}

TEST(AgentSampleRequest, HasTasksWhenAsked) {
  std::string body = R"({"tasks":true})";
  FixedText<512> error;
  RecordingRequest recording;
  EXPECT_FALSE(recording.tasks);
  ASSERT_TRUE(parse_record_request(body, recording, error)) << error.c_str();
  EXPECT_TRUE(recording.tasks);
  EXPECT_TRUE(sample_error(R"({"tasks":1})").starts_with("tasks: "));
}

TEST(AgentSampleRequest, RefusesTasksWithoutWaits) {
  EXPECT_TRUE(sample_error(R"({"tasks":true,"mode":"cpu"})").starts_with("tasks: "));
  EXPECT_TRUE(sample_error(R"({"mode":"cpu","tasks":true})").starts_with("tasks: "));
  EXPECT_EQ(sample_error(R"({"mode":"cpu","tasks":false})"), "");
  EXPECT_EQ(sample_error(R"({"mode":"offcpu","tasks":true})"), "");
  std::string body = R"({"tasks":true,"mode":"cpu"})";
  RecordingRequest recording;
  FixedText<512> error;
  EXPECT_FALSE(parse_record_request(body, recording, error));
}

TEST(AgentSampleRequest, HasDefaults) {
  SampleRequest request;
  FixedText<512> error;
  ASSERT_TRUE(parse_sample_request({}, request, error));
  EXPECT_EQ(request.recording.ticks, 100u);
  EXPECT_EQ(request.recording.interval, 10ms);
  EXPECT_EQ(request.format, AnswerFormat::kPerf);
}

TEST(AgentSampleRequest, KnowsLongAndShortFormatNames) {
  const auto format_of = [](std::string name) {
    std::string body = "{\"format\":\"" + name + "\"}";
    SampleRequest request;
    FixedText<512> error;
    EXPECT_TRUE(parse_sample_request(body, request, error)) << name;
    return request.format;
  };
  EXPECT_EQ(format_of("perf"), format_of("perfSymbolized"));
  EXPECT_EQ(format_of("pprof"), format_of("pprofSymbolized"));
  EXPECT_EQ(format_of("collapsed"), format_of("flamegraphCollapsedSymbolized"));
  EXPECT_EQ(format_of("raw"), AnswerFormat::kRaw);
  EXPECT_EQ(format_of("swipr"), AnswerFormat::kRaw);
}

TEST(AgentSampleRequest, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(sample_error(R"({"numberOfSamples":"10"})").starts_with("numberOfSamples: "));
  EXPECT_TRUE(sample_error(R"({"numberOfSamples":0})").starts_with("numberOfSamples: "));
  EXPECT_TRUE(sample_error(R"({"numberOfSamples":1.5})").starts_with("numberOfSamples: "));
  EXPECT_TRUE(sample_error(R"({"numberOfSamples":-1})").starts_with("numberOfSamples: "));
  EXPECT_TRUE(sample_error(R"({"timeInterval":10})").starts_with("timeInterval: "));
  EXPECT_TRUE(sample_error(R"({"timeInterval":"1 us"})").starts_with("timeInterval: "));
  EXPECT_TRUE(sample_error(R"({"timeInterval":"2 h"})").starts_with("timeInterval: "));
  EXPECT_TRUE(sample_error(R"({"format":"svg"})").starts_with("format: "));
  EXPECT_TRUE(sample_error(R"({"format":null})").starts_with("format: "));
  EXPECT_TRUE(sample_error("[]").starts_with("body: "));
}

TEST(AgentFileRequest, HasAnAbsolutePath) {
  RecordingRequest request;
  PathText path;
  FixedText<512> error;
  std::string body = R"({"path":"/tmp/a.swipr","timeInterval":"1 ms"})";
  ASSERT_TRUE(parse_file_request(body, request, path, error)) << error.c_str();
  EXPECT_EQ(path.view(), "/tmp/a.swipr");
  EXPECT_EQ(request.interval, 1ms);
  const std::string longest(PATH_MAX + 1, 'a');
  for (std::string wrong :
       {R"({})"s, R"({"path":"a"})"s, R"({"path":1})"s, R"({"path":"/a\u0000b"})"s,
        R"({"path":"/a","timeInterval":1})"s, "{\"path\":\"/" + longest + "\"}"}) {
    EXPECT_FALSE(parse_file_request(wrong, request, path, error)) << wrong;
  }
}

TEST(AgentRecordRequest, HasNoLimitUnlessAsked) {
  RecordingRequest request;
  FixedText<512> error;
  ASSERT_TRUE(parse_record_request({}, request, error));
  EXPECT_EQ(request.ticks, 0u);
  EXPECT_EQ(request.duration, 0ns);
  std::string body = R"({"numberOfSamples":5,"timeInterval":"1 ms","duration":"3 s"})";
  ASSERT_TRUE(parse_record_request(body, request, error));
  EXPECT_EQ(request.ticks, 5u);
  EXPECT_EQ(request.interval, 1ms);
  EXPECT_EQ(request.duration, 3s);
  EXPECT_EQ(request.max_overhead_permille, kDefaultMaxOverheadPermille);
  std::string wrong = R"({"duration":"0 s"})";
  EXPECT_FALSE(parse_record_request(wrong, request, error));
  EXPECT_TRUE(error.view().starts_with("duration: "));
}

TEST(AgentRecordRequest, TakesTheBudgetInPercent) {
  const auto permille_of = [](std::string_view text) {
    RecordingRequest request;
    FixedText<512> error;
    std::string body = "{\"maxOverhead\":\"" + std::string(text) + "\"}";
    return parse_record_request(body, request, error) ? request.max_overhead_permille : 0;
  };
  EXPECT_EQ(permille_of("10%"), 100u);
  EXPECT_EQ(permille_of("0.5 %"), 5u);
  EXPECT_EQ(permille_of("1000.0%"), 10'000u);
  for (const char* wrong : {"10", "%", "0%", "1001%", "0.05%", "-1%", ".5%", "1.%", "1.-%"}) {
    EXPECT_EQ(permille_of(wrong), 0u) << wrong;
  }
}

TEST(AgentRecordRequest, HasJitterUnlessItIsSwitchedOff) {
  RecordingRequest request;
  FixedText<512> error;
  std::string body = "{}";
  ASSERT_TRUE(parse_record_request(body, request, error));
  EXPECT_TRUE(request.jitter);
  body = R"({"jitter":false})";
  ASSERT_TRUE(parse_record_request(body, request, error));
  EXPECT_FALSE(request.jitter);
  SampleRequest sample;
  body = R"({"jitter":false})";
  ASSERT_TRUE(parse_sample_request(body, sample, error));
  EXPECT_FALSE(sample.recording.jitter);
  ASSERT_TRUE(parse_profile_query("jitter=off", request, error));
  EXPECT_FALSE(request.jitter);
  ASSERT_TRUE(parse_profile_query("jitter=on", request, error));
  EXPECT_TRUE(request.jitter);
  EXPECT_FALSE(parse_profile_query("jitter=no", request, error));
  EXPECT_EQ(error.view(), "jitter: must be on or off");
  EXPECT_EQ(sample_error(R"({"jitter":"off"})"), "jitter: must be true or false");
}

TEST(AgentRecordRequest, TakesAMode) {
  RecordingRequest request;
  FixedText<512> error;
  for (const auto mode :
       {wire::RecordMode::kWall, wire::RecordMode::kCpu, wire::RecordMode::kOffCpu}) {
    const std::string name(wire::kRecordModeNames[static_cast<std::size_t>(mode)]);
    std::string body = R"({"mode":")" + name + R"("})";
    ASSERT_TRUE(parse_record_request(body, request, error));
    EXPECT_EQ(request.mode, mode);
    ASSERT_TRUE(parse_profile_query("mode=" + name, request, error));
    EXPECT_EQ(request.mode, mode);
  }
  std::string wrong = R"({"mode":"heap"})";
  EXPECT_FALSE(parse_record_request(wrong, request, error));
  EXPECT_EQ(error.view(), "mode: must be wall, cpu or offcpu");
  EXPECT_FALSE(parse_profile_query("mode=", request, error));
}

TEST(AgentProfileQuery, TurnsSecondsAndRateIntoTicks) {
  RecordingRequest request;
  FixedText<512> error;
  ASSERT_TRUE(parse_profile_query("", request, error));
  EXPECT_EQ(request.ticks, 3000u);
  EXPECT_EQ(request.interval, 10ms);
  ASSERT_TRUE(parse_profile_query("seconds=2&rate=1000", request, error));
  EXPECT_EQ(request.ticks, 2000u);
  EXPECT_EQ(request.interval, 1ms);
  ASSERT_TRUE(parse_profile_query("seconds=0", request, error));
  EXPECT_EQ(request.ticks, 1u);  // 0 would be a recording without end
}

TEST(AgentProfileQuery, RefusesWhatIsOutOfRange) {
  for (const char* query :
       {"seconds=1001", "seconds=-1", "seconds=", "seconds=1.5", "rate=0", "rate=1001", "rate=x"}) {
    RecordingRequest request;
    FixedText<512> error;
    EXPECT_FALSE(parse_profile_query(query, request, error)) << query;
    EXPECT_EQ(error.view().substr(0, 4), std::string_view(query).substr(0, 4));
  }
}

}  // namespace
}  // namespace swipr::agent
