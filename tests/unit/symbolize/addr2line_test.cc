// Compares every byte of every function of the fixtures with binutils' addr2line.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>

#include "symbolize/elf/elf_file.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

// "function line" of each frame, innermost first.
using Frames = std::vector<std::string>;

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

std::vector<std::string> lines_of_command(const std::string& command) {
  std::unique_ptr<std::FILE, ClosePipe> pipe(::popen(command.c_str(), "re"));
  std::string text;
  std::array<char, 4096> block;
  std::size_t got = 0;
  while ((got = std::fread(block.data(), 1, block.size(), pipe.get())) > 0) {
    text.append(block.data(), got);
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// binutils names copies of functions after the symbol, DWARF knows the function they are copies of.
std::string without_clone(const std::string& name) {
  return name.substr(0, name.find(" [clone ."));
}

// "/path/file.cc:12 (discriminator 3)" → "12"; "??:?" → "0"
std::string line_number(std::string place) {
  place.resize(std::min(place.find(" ("), place.size()));
  const std::string number = place.substr(place.rfind(':') + 1);
  return number == "?" ? "0" : number;
}

std::map<std::uint64_t, Frames> ask_addr2line(const std::string& path,
                                              const std::string& addresses) {
  std::map<std::uint64_t, Frames> answers;
  Frames* current = nullptr;
  std::string function;
  for (const std::string& line :
       lines_of_command("addr2line -a -i -f -C -e '" + path + "' < '" + addresses + "'")) {
    if (line.starts_with("0x")) {
      current = &answers[std::stoull(line, nullptr, 16)];
      function.clear();
    } else if (function.empty()) {
      function = line;
    } else if (current != nullptr) {
      current->push_back(without_clone(function) + " " + line_number(line));
      function.clear();
    }
  }
  return answers;
}

Frames frames_of(const std::vector<SourceFunction>& functions) {
  Frames frames;
  for (const SourceFunction& function : functions) {
    frames.push_back(without_clone(std::string(function.name)) + " " +
                     std::to_string(function.line));
  }
  return frames;
}

class Addr2lineTest : public testing::TestWithParam<std::string> {};

TEST_P(Addr2lineTest, AgreesOnEveryByteOfEveryFunction) {
  if (lines_of_command("command -v addr2line").empty()) GTEST_SKIP() << "no addr2line here";
  const std::string path = fixture(GetParam());
  const TemporaryFolder folder;
  Symbolizer symbolizer;
  const auto module = symbolizer.open_module({path, "", 0});
  std::map<std::uint64_t, Frames> ours;
  for (const FileOffset offset : function_bytes(path)) {
    ours[symbolizer.image_address(module, offset).value] =
        frames_of(symbolizer.find_functions(module, offset));
  }
  std::ofstream list(folder.path("addresses"));
  for (const auto& [address, frames] : ours) list << std::hex << address << '\n';
  list.close();
  const auto theirs = ask_addr2line(path, folder.path("addresses"));
  ASSERT_GT(ours.size(), 150u);
  ASSERT_EQ(theirs.size(), ours.size());
  for (const auto& [address, frames] : ours) EXPECT_EQ(frames, theirs.at(address)) << address;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Addr2lineTest,
                         testing::Values("chain_dwarf5", "chain_dwarf4", "chain_only_symtab"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace swipr::symbolize::test
