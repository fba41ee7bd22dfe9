#include "cli/push/requests/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace swipr::push {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(Base64, HasTheExamplesOfItsStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(StoreLabels, StayWithinTheLimits) {
  Labels more = {
      {"k8s.pod", "p"}, {"1st", "x"}, {"empty", ""}, {"__secret", "x"}, {"k8s_pod", "q"}};
  EXPECT_THAT(store_labels("process_cpu", "shop", more),
              ElementsAre(Pair("__name__", "process_cpu"), Pair("service_name", "shop"),
                          Pair("k8s_pod", "q"), Pair("_1st", "x")));
  more.clear();
  for (int number = 0; number < 50; ++number) more.emplace_back("l" + std::to_string(number), "v");
  EXPECT_THAT(store_labels("m", "s", more), SizeIs(30));
  const std::string wide = "\xc3\xa4";  // 2 bytes
  std::string value = "x";
  for (int count = 0; count < 2000; ++count) value += wide;
  const Labels cut = store_labels("m", "s", {{"l", value}});
  EXPECT_EQ(cut.back().second.size(), 2047u);  // not in the middle of a letter
}

TEST(HeadersOf, DependOnTheStore) {
  auto url = *parse_store_url("pyroscope+http://x");
  EXPECT_THAT(headers_of(url, {}), IsEmpty());
  EXPECT_THAT(headers_of(url, {"t", "team"}),
              ElementsAre(Pair("Authorization", "Bearer t"), Pair("X-Scope-OrgID", "team")));
  url = *parse_store_url("pyroscope+http://12:word@x");
  EXPECT_THAT(headers_of(url, {}), ElementsAre(Pair("Authorization", "Basic MTI6d29yZA==")));
  EXPECT_THAT(headers_of(url, {"t", ""}), ElementsAre(Pair("Authorization", "Basic MTI6dA==")));
  url = *parse_store_url("gprofiler+http://x");
  EXPECT_THAT(headers_of(url, {"key", ""}), ElementsAre(Pair("GPROFILER-API-KEY", "key")));
}

TEST(PyroscopeRequest, HasOneSeries) {
  const auto url = *parse_store_url("pyroscope+http://x/prefix");
  const Request request = pyroscope_request(url, {{"a", "\xff"}}, "bytes", "12ab");
  EXPECT_EQ(request.path, "/prefix/push.v1.PusherService/Push");
  const json body = json::parse(request.body);
  EXPECT_EQ(body["series"][0]["labels"][0]["name"], "a");
  EXPECT_EQ(body["series"][0]["labels"][0]["value"], "\xef\xbf\xbd");
  EXPECT_EQ(body["series"][0]["samples"][0]["rawProfile"], "Ynl0ZXM=");
  EXPECT_EQ(body["series"][0]["samples"][0]["ID"], "12ab");
}

TEST(ParcaRequest, WrapsItsLabels) {
  const Request request = parca_request(*parse_store_url("parca+http://x"), {{"a", "b"}}, "");
  EXPECT_EQ(request.path, "/api/profiles/writeraw");
  const json body = json::parse(request.body);
  EXPECT_EQ(body["series"][0]["labels"]["labels"][0]["value"], "b");
  EXPECT_EQ(body["normalized"], false);
}

TEST(StudioRequest, EncodesItsQuery) {
  const Request request =
      studio_request(*parse_store_url("gprofiler+http://x"), {"# {}", "a b&c", "h", "b", "e", ""});
  EXPECT_TRUE(request.path.starts_with("/api/v2/profiles?key=&service=a%20b%26c&hostname=h&"));
  const json body = json::parse(request.body);
  EXPECT_EQ(body["gpid"], "");
  EXPECT_EQ(body["start_time"], "b");
}

TEST(OutcomeOf, RepeatsOnlyWhatIsNotStored) {
  const auto outcome = [](int status, bool was_sent) {
    Answer answer;
    answer.status = status;
    answer.was_sent = was_sent;
    return outcome_of(answer);
  };
  EXPECT_EQ(outcome(200, true), Outcome::kStored);
  Answer partial;
  partial.status = 200;
  partial.is_partial = true;
  EXPECT_EQ(outcome_of(partial), Outcome::kRefused);
  EXPECT_EQ(outcome(429, true), Outcome::kLater);
  EXPECT_EQ(outcome(503, true), Outcome::kLater);
  EXPECT_EQ(outcome(0, false), Outcome::kLater);
  EXPECT_EQ(outcome(0, true), Outcome::kUnknown);  // may be stored already
  for (const int status : {301, 400, 401, 413, 422, 500}) {
    EXPECT_EQ(outcome(status, true), Outcome::kRefused) << status;
  }
}

TEST(DelayBefore, DoublesUpToAMinute) {
  using std::chrono::milliseconds;
  const std::chrono::seconds unsaid(-1);
  EXPECT_EQ(delay_before(0, unsaid, 0.5), milliseconds(1000));
  EXPECT_EQ(delay_before(2, unsaid, 0), milliseconds(3200));
  EXPECT_EQ(delay_before(3, unsaid, 1), milliseconds(9600));
  EXPECT_EQ(delay_before(60, unsaid, 0.5), milliseconds(60000));
  EXPECT_EQ(delay_before(5, std::chrono::seconds(0), 1), milliseconds(100));
  EXPECT_EQ(delay_before(5, std::chrono::hours(2), 1), milliseconds(60000));
}

}  // namespace
}  // namespace swipr::push
