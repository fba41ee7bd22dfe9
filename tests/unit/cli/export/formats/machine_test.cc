// What a language runtime does for itself is marked in the formats that have categories or labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"
#include "tests/golden/pprof_text.h"

namespace swipr::exporters {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// A process of Java whose program and collector call the same function, for 2 and 3 ms.
golden::Golden make_java() {
  using namespace std::chrono_literals;
  golden::Golden made;
  profile::Recording& recording = made.recording;
  recording.processes.resize(1);
  recording.processes[0].command_name = "java";
  recording.runtimes = {{0, Language::kJava, "17", ""}};
  recording.threads = {{0, Tid{1}, "main"}, {0, Tid{2}, "GC Thread#0"}};
  for (const std::string_view name : {"memcpy", "work"}) {
    profile::NamedFrame named;
    named.function = named.system_name = name;
    recording.frames.emplace_back();
    made.names.frames.push_back({named});
  }
  recording.stacks.resize(1);
  recording.stacks[0].frames = {0, 1};
  recording.samples = {{1s, 0, 0, profile::State::kRunning, 1, 2ms, 0ns, 2ms},
                       {1s, 1, 0, profile::State::kRunning, 1, 3ms, 0ns, 3ms}};
  return made;
}

template <typename Writer>
std::string exported(Writer writer) {
  const golden::Golden input = make_java();
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(writer(input.recording, input.names, Options{}, sink).has_value());
  return file.content();
}

TEST(MachineWorkInFormats, IsALabelOfPprof) {
  const std::string text = golden::pprof_text(golden::gunzip(exported(write_pprof)));
  const std::string collector = "work='garbage collection'";
  const std::size_t at = text.find(collector);
  ASSERT_NE(at, text.npos) << text;
  EXPECT_EQ(text.find(collector, at + 1), text.npos) << text;
  EXPECT_THAT(text.substr(text.rfind('\n', at), at - text.rfind('\n', at)),
              HasSubstr("GC Thread#0"));
}

TEST(MachineWorkInFormats, IsACategoryOfTheFirefoxProfiler) {
  const Json profile = Json::parse(golden::gunzip(exported(write_firefox)));
  const auto category_of = [&profile](std::size_t thread) {
    const std::size_t stack = profile["threads"][thread]["samples"]["stack"].back();
    const std::size_t frame = profile["shared"]["stackTable"]["frame"][stack];
    const std::size_t prefix = profile["shared"]["stackTable"]["prefix"][stack];
    EXPECT_LT(prefix, stack);
    const std::size_t function = profile["shared"]["frameTable"]["func"][frame];
    const std::size_t name = profile["shared"]["funcTable"]["name"][function];
    EXPECT_EQ(profile["shared"]["stringArray"][name], "memcpy");
    const std::size_t category = profile["shared"]["frameTable"]["category"][frame];
    return profile["meta"]["categories"][category]["name"].get<std::string>();
  };
  EXPECT_EQ(category_of(0), "On CPU");
  EXPECT_EQ(category_of(1), "Garbage collection");
}

TEST(MachineWorkInFormats, IsInTheRowsOfThePage) {
  const std::string page = exported(write_html);
  const std::string before = "<script id=\"profile\" type=\"application/json\">";
  const std::size_t begin = page.find(before) + before.size();
  const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_THAT(data["rows"]["work"], ElementsAre(0, 1));
}

}  // namespace
}  // namespace swipr::exporters
