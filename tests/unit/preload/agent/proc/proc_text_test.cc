#include "preload/agent/proc/proc_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace swipr::agent {
namespace {

std::vector<std::string> lines_of(const std::string& content) {
  // Tests of one program run at the same time: the process ID keeps their files apart.
  const std::string path = testing::TempDir() + "proc_text_test." + std::to_string(::getpid());
  std::ofstream(path) << content;
  LineReader reader(path.c_str());
  std::remove(path.c_str());
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) lines.emplace_back(line);
  return lines;
}

TEST(AgentLineReader, ReadsLinesAcrossItsBuffer) {
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    expected.push_back(std::string(static_cast<std::size_t>(i % 97), 'x') + std::to_string(i));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(content), expected);
}

TEST(AgentLineReader, CutsLongLinesAndGoesOnBehindThem) {
  const auto lines = lines_of("a\n" + std::string(30000, 'x') + "\nb\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_EQ(lines[1].find_first_not_of('x'), std::string::npos);
  EXPECT_EQ(lines[2], "b");
}

TEST(AgentLineReader, HasNothingWithoutAFile) {
  LineReader reader("/nowhere/at/all");
  std::string_view line;
  EXPECT_FALSE(reader.next(line));
}

TEST(AgentFileText, StopsWhereTheTextIsFull) {
  FixedText<8> text;
  EXPECT_TRUE(read_file_text("/proc/self/stat", text));
  EXPECT_EQ(text.size(), 7u);
  EXPECT_FALSE(read_file_text("/nowhere/at/all", text));
}

}  // namespace
}  // namespace swipr::agent
