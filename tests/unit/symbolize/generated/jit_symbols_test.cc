#include "symbolize/generated/jit_symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace swipr::symbolize {
namespace {

using std::chrono::nanoseconds;

std::string name_at(const JitSymbols& symbols, std::uint64_t address, std::int64_t time = 1) {
  const auto place = symbols.find({address}, nanoseconds(time));
  return place ? symbols.name_of(place->symbol) : "";
}

TEST(PerfMap, NamesRanges) {
  JitSymbols symbols;
  symbols.add_perf_map("1000 20 first\n1020 10 second with blanks; and more\n0x2000 0x8 third");
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x1000), "first");
  EXPECT_EQ(name_at(symbols, 0x101f), "first");
  EXPECT_EQ(name_at(symbols, 0x1020), "second with blanks; and more");
  EXPECT_EQ(name_at(symbols, 0x1030), "");
  EXPECT_EQ(name_at(symbols, 0x2007), "third");
  EXPECT_EQ(symbols.find({0x1025}, nanoseconds(1))->offset, 5u);
}

TEST(PerfMap, TakesTheLastOfTwoThatOverlap) {
  JitSymbols symbols;
  symbols.add_perf_map("1000 100 old\n1040 10 new\n");
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x103f), "old");
  EXPECT_EQ(name_at(symbols, 0x1040), "new");
  EXPECT_EQ(name_at(symbols, 0x1050), "old");
}

TEST(PerfMap, GivesWhatIsAtAddressesAway) {
  JitSymbols symbols;
  symbols.add_perf_map("1000 100 old\n1040 10 new\n2000 10 elsewhere\n");
  symbols.finish();
  const auto code = symbols.code_at(std::vector<RuntimeAddr>{{0x1010}, {0x1044}});
  ASSERT_EQ(code.size(), 2u);
  JitSymbols copy;
  for (const auto& piece : code) copy.add_code(piece);
  copy.finish();
  for (const std::uint64_t address : {0x1010u, 0x1044u}) {
    EXPECT_EQ(name_at(copy, address), name_at(symbols, address));
  }
  EXPECT_EQ(name_at(copy, 0x2000), "");
}

TEST(JitSymbols, CodeThatHasGoneLeavesNothingInItsPlace) {
  using std::chrono::nanoseconds;
  JitSymbols symbols;
  symbols.add_perf_map("1000 40 always\n");
  symbols.add_code({.begin = 0x1000,
                    .size = 0x20,
                    .from = nanoseconds(100),
                    .until = nanoseconds(200),
                    .name = "told",
                    .lines = {}});
  symbols.add_code(
      {.begin = 0x1000, .size = 0x10, .from = nanoseconds(150), .name = "later", .lines = {}});
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x1018, 99), "always");
  EXPECT_EQ(name_at(symbols, 0x1018, 199), "told");
  EXPECT_EQ(name_at(symbols, 0x1018, 200), "");
  EXPECT_EQ(name_at(symbols, 0x1008, 200), "later");
  EXPECT_EQ(name_at(symbols, 0x1030, 200), "always");
}

TEST(PerfMap, IgnoresOtherLines) {
  JitSymbols symbols;
  symbols.add_perf_map(
      "\n\n# comment\n1000\n1000 10\nzz 10 x\n1000 0 empty\nffffffffffffffff 10 far\n");
  symbols.finish();
  EXPECT_TRUE(symbols.empty());
  EXPECT_EQ(name_at(symbols, 0x1000), "");
}

class Dump {
 public:
  explicit Dump(std::uint64_t flags = 0) {
    add<std::uint32_t>(0x4A695444);
    for (const std::uint32_t word : {1u, 40u, 62u, 0u, 4711u}) add(word);
    add<std::uint64_t>(1);
    add(flags);
  }
  Dump& load(std::uint64_t time, std::uint64_t begin, std::uint64_t size, std::uint64_t index,
             const std::string& name) {
    Dump body{Bare()};
    body.add<std::uint64_t>(0).add(begin).add(begin).add(size).add(index).text(name);
    body.bytes_ += std::string(size, '\xcc');
    return record(0, time, body);
  }
  Dump& move(std::uint64_t time, std::uint64_t from, std::uint64_t to, std::uint64_t size,
             std::uint64_t index) {
    Dump body{Bare()};
    body.add<std::uint64_t>(0).add(to).add(from).add(to).add(size).add(index);
    return record(1, time, body);
  }
  Dump& lines(std::uint64_t begin, std::uint64_t second) {
    Dump body{Bare()};
    body.add(begin).add<std::uint64_t>(2);
    body.add(begin).add<std::int32_t>(10).add<std::int32_t>(0).text("app.js");
    body.add(second).add<std::int32_t>(11).add<std::int32_t>(0).text("\xff");
    return record(2, 0, body);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  struct Bare {};
  explicit Dump(Bare) {}
  template <typename T>
  Dump& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Dump& text(const std::string& value) {
    bytes_.append(value.c_str(), value.size() + 1);
    return *this;
  }
  Dump& record(std::uint32_t kind, std::uint64_t time, const Dump& body) {
    add(kind).add(static_cast<std::uint32_t>(body.bytes_.size() + 16)).add(time);
    bytes_ += body.bytes_;
    return *this;
  }
  std::string bytes_;
};

JitSymbols read(const Dump& dump) {
  JitSymbols symbols;
  EXPECT_TRUE(symbols.add_jitdump(dump.bytes()));
  symbols.finish();
  return symbols;
}

TEST(JitDump, NamesWhatWasThereAtTheTime) {
  Dump dump;
  dump.load(100, 0x1000, 0x40, 1, "early").load(200, 0x1020, 0x40, 2, "late");
  const JitSymbols symbols = read(dump);
  EXPECT_EQ(name_at(symbols, 0x1030, 99), "");
  EXPECT_EQ(name_at(symbols, 0x1030, 150), "early");
  EXPECT_EQ(name_at(symbols, 0x1030, 200), "late");
  EXPECT_EQ(name_at(symbols, 0x1010, 300), "early");
}

TEST(JitDump, FollowsCodeThatMoves) {
  Dump dump;
  dump.load(100, 0x1000, 0x40, 7, "wanderer").move(200, 0x1000, 0x5000, 0x40, 7);
  const JitSymbols symbols = read(dump);
  EXPECT_EQ(name_at(symbols, 0x5010, 150), "");
  EXPECT_EQ(name_at(symbols, 0x5010, 250), "wanderer");
}

TEST(JitDump, KnowsLines) {
  Dump dump;
  dump.lines(0x1000, 0x1010).load(100, 0x1000, 0x40, 1, "f").load(100, 0x2000, 0x40, 2, "g");
  const JitSymbols symbols = read(dump);
  const auto first = symbols.find({0x100f}, nanoseconds(100));
  const auto second = symbols.find({0x1010}, nanoseconds(100));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->file, "app.js");
  EXPECT_EQ(first->line, 10u);
  EXPECT_EQ(second->file, "app.js");
  EXPECT_EQ(second->line, 11u);
  EXPECT_EQ(symbols.find({0x2000}, nanoseconds(100))->line, 0u);
}

TEST(JitDump, UsesWhatACutFileHas) {
  Dump dump;
  dump.load(100, 0x1000, 0x40, 1, "whole").load(100, 0x2000, 0x40, 2, "cut");
  JitSymbols symbols;
  EXPECT_TRUE(symbols.add_jitdump(dump.bytes().first(dump.bytes().size() - 10)));
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x1000, 100), "whole");
  EXPECT_EQ(name_at(symbols, 0x2000, 100), "");
}

TEST(JitDump, IgnoresTimesOfAnotherClock) {
  Dump dump(1);
  dump.load(~std::uint64_t{0}, 0x1000, 0x40, 1, "f");
  EXPECT_EQ(name_at(read(dump), 0x1000, 1), "f");
}

TEST(JitDump, RefusesOtherFiles) {
  JitSymbols symbols;
  const std::string text = "1000 20 a perf map\n";
  EXPECT_FALSE(symbols.add_jitdump(std::as_bytes(std::span(text))));
  EXPECT_FALSE(symbols.add_jitdump({}));
}

}  // namespace
}  // namespace swipr::symbolize
