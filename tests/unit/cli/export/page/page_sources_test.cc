#include "cli/export/page/page_sources.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/host/temporary_folder.h"
#include "common/host/unique_fd.h"

namespace swipr::exporters {
namespace {

using Place = profile::StackTree::Place;

class PageSources : public testing::Test {
 protected:
  std::string make_file(const std::string& name, const std::string& text) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  static Place place(const std::string& file, std::uint32_t line) {
    Place made;
    made.function = "f";
    made.file = file;
    made.line = line;
    return made;
  }

  // The member as JSON.
  nlohmann::json write(const std::vector<Place>& places) {
    const std::string path = folder_.path() + "/out";
    {
      const host::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
      Sink sink(file.value(), path);
      write_page_sources(recording_, places, sink);
      EXPECT_TRUE(sink.flush());
    }
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    text.resize(text.rfind(','));
    return nlohmann::json::parse("{" + text + "}").at("sources");
  }

  host::TemporaryFolder folder_;
  profile::Recording recording_;
};

TEST_F(PageSources, HasTheLinesOfPlacesAndNoOthers) {
  const std::string file = make_file("a.cc", "one\n\ttwo <i>\nthree\nsecret\nfive");
  const auto sources = write({place(file, 2), place(file, 5), place(file, 99), place(file, 0)});
  EXPECT_EQ(sources, nlohmann::json::object({{file, {{"2", "two <i>"}, {"5", "five"}}}}));
}

TEST_F(PageSources, CutsLongLines) {
  const std::string file = make_file("a.cc", std::string(100'000, 'x') + "\nend");
  const auto lines = write({place(file, 1), place(file, 2)}).at(file);
  EXPECT_EQ(lines.at("1").get<std::string>().size(), 200u);
  EXPECT_EQ(lines.at("2"), "end");
}

TEST_F(PageSources, LeavesOutWhatIsNoRegularFile) {
  const std::string fifo = folder_.path() + "/fifo.cc";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(write({place(fifo, 1), place("/dev/zero", 1), place("/nowhere/a.cc", 1),
                     place("relative.cc", 1), place(folder_.path(), 1),
                     place(make_file("passwords", "secret"), 1)})
                  .empty());
}

TEST_F(PageSources, LeavesOutFilesThatChangedSinceTheRecordingBegan) {
  const std::string file = make_file("a.cc", "one\n");
  recording_.processes.resize(1);
  recording_.processes[0].start_realtime = std::chrono::hours(24);
  EXPECT_TRUE(write({place(file, 1)}).empty());
  recording_.processes[0].start_realtime = std::chrono::hours(24 * 365 * 100);
  EXPECT_EQ(write({place(file, 1)}).size(), 1u);
}

}  // namespace
}  // namespace swipr::exporters
