#include "symbolize/name_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

NameCache::Entries some_entries() {
  SourceFunction inner;
  inner.name = "inner()";
  inner.file = "a.cc";
  inner.line = 7;
  inner.inlined = true;
  SourceFunction outer;
  outer.name = "outer()";
  outer.linkage_name = "_Z5outerv";
  outer.file = "a.cc";
  outer.line = 9;
  outer.start_line = 3;
  outer.offset = 0x10;
  return {{0x1000, {inner, outer}}, {0x2000, {}}};
}

class NameCacheTest : public testing::Test {
 protected:
  std::string only_file() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("cache"))) {
      return entry.path();
    }
    return {};
  }

  TemporaryFolder folder_;
  TextPool texts_;
  const NameCache cache_{folder_.path("cache"), kPlenty};
};

TEST_F(NameCacheTest, GivesBackWhatWasStored) {
  cache_.store("abcd", "dwarf", some_entries());
  const auto entries = cache_.load("abcd", "dwarf", texts_);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries.at(0x2000).empty());
  const auto& functions = entries.at(0x1000);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "inner()");
  EXPECT_TRUE(functions[0].inlined);
  EXPECT_EQ(functions[1].linkage_name, "_Z5outerv");
  EXPECT_EQ(functions[1].file, "a.cc");
  EXPECT_EQ(functions[1].line, 9u);
  EXPECT_EQ(functions[1].start_line, 3u);
  EXPECT_EQ(functions[1].offset, 0x10u);
}

TEST_F(NameCacheTest, HasNothingForOtherSourcesAndModules) {
  cache_.store("abcd", "dwarf", some_entries());
  EXPECT_TRUE(cache_.load("abcd", "symtab", texts_).empty());
  EXPECT_TRUE(cache_.load("abce", "dwarf", texts_).empty());
}

TEST_F(NameCacheTest, IgnoresEveryDamagedFile) {
  cache_.store("abcd", "dwarf", some_entries());
  std::ifstream input(only_file(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(input)), {});
  ASSERT_GT(whole.size(), 32u);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    std::ofstream(only_file(), std::ios::binary) << damaged;
    EXPECT_TRUE(cache_.load("abcd", "dwarf", texts_).empty()) << "byte " << at;
    std::ofstream(only_file(), std::ios::binary) << whole.substr(0, at);
    EXPECT_TRUE(cache_.load("abcd", "dwarf", texts_).empty()) << "length " << at;
  }
}

TEST_F(NameCacheTest, DoesNotBelieveAnotherUser) {
  cache_.store("abcd", "dwarf", some_entries());
  if (::chown(only_file().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_TRUE(cache_.load("abcd", "dwarf", texts_).empty());
}

TEST_F(NameCacheTest, RemovesWhatWasUsedLongestAgo) {
  cache_.store("old", "dwarf", some_entries());
  const std::uint64_t bytes = std::filesystem::file_size(only_file());
  std::filesystem::last_write_time(
      only_file(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const NameCache small(folder_.path("cache"), 2 * bytes);
  small.store("mid", "dwarf", some_entries());
  EXPECT_FALSE(small.load("old", "dwarf", texts_).empty());  // and is used just now
  std::filesystem::last_write_time(
      folder_.path("cache") + "/mid.names",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  small.store("new", "dwarf", some_entries());
  EXPECT_FALSE(small.load("old", "dwarf", texts_).empty());
  EXPECT_TRUE(small.load("mid", "dwarf", texts_).empty());
}

TEST_F(NameCacheTest, LeavesAFolderThatCannotBeWritten) {
  const NameCache nowhere("/proc/none/cache", kPlenty);
  nowhere.store("abcd", "dwarf", some_entries());
  EXPECT_TRUE(nowhere.load("abcd", "dwarf", texts_).empty());
}

// The second symbolizer cannot read it from the program, whose code is no longer readable.
TEST_F(NameCacheTest, ServesTheSymbolizer) {
  const std::string path = folder_.copy(fixture("chain_dwarf5"), "program");
  const std::string id = build_id_of(path);
  Options options;
  options.cache_folder = folder_.path("cache");
  const FileOffset label = offset_of(path, "label_in_chain");
  std::vector<std::string> first;
  {
    Symbolizer symbolizer(options);
    const Symbolizer::Lookup lookup{symbolizer.open_module({path, id, 0}), label};
    first = names(symbolizer.find_all({&lookup, 1})[0]);
    ASSERT_EQ(first.size(), 4u);
  }
  std::ifstream input(only_file(), std::ios::binary);
  EXPECT_TRUE(input.good());
  Symbolizer again(options);
  const Symbolizer::Lookup lookup{again.open_module({path, id, 0}), label};
  EXPECT_EQ(names(again.find_all({&lookup, 1})[0]), first);
  options.demangle = false;
  Symbolizer other(options);
  const Symbolizer::Lookup mangled{other.open_module({path, id, 0}), label};
  EXPECT_EQ(names(other.find_all({&mangled, 1})[0]).front(), "_ZN4shop7add_taxEi");
}

}  // namespace
}  // namespace swipr::symbolize::test
