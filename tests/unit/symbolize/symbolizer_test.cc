#include "symbolize/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "symbolize/elf/elf_file.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<SourceFunction> find(const std::string& path, FileOffset offset, Options options = {}) {
  static const auto texts = std::make_shared<TextPool>();  // used after the symbolizer ends
  Symbolizer symbolizer(std::move(options), texts);
  return symbolizer.find_functions(symbolizer.open_module({path, "", 0}), offset);
}

std::vector<std::string> dwarf_fixtures() {
  std::vector<std::string> fixtures = {"chain_dwarf5",     "chain_dwarf4", "chain_dwarf3",
                                       "chain_dwarf2",     "chain_split5", "chain_split4",
                                       "chain_compressed", "chain_zdebug"};
  // Tests that need optional tools: DWARF in a file that two programs share (dwz), and units of
  // split DWARF in packages.
  for (const char* name : {"dwz/chain", "chain_clang", "package4/chain", "package5/chain"}) {
    if (std::filesystem::exists(fixture(name))) fixtures.emplace_back(name);
  }
  return fixtures;
}

class DwarfTest : public testing::TestWithParam<std::string> {
 protected:
  std::vector<SourceFunction> find_label(std::string_view label, Options options = {}) const {
    options.debug_directories = {fixture("dwz")};
    return find(path_, offset_of(path_, label), std::move(options));
  }
  const std::string path_ = fixture(GetParam());
};

TEST_P(DwarfTest, ListsTheInlinedChainInnermostFirst) {
  const auto chain = find_label("label_in_chain");
  EXPECT_THAT(names(chain), ElementsAre("shop::add_tax(int)", "shop::add_shipping(int)",
                                        "shop::Till::charge(int)", "shop::buy(int)"));
  ASSERT_EQ(chain.size(), 4u);
  EXPECT_TRUE(chain[0].inlined && chain[1].inlined && chain[2].inlined);
  EXPECT_FALSE(chain[3].inlined);
  EXPECT_EQ(chain[0].linkage_name, "_ZN4shop7add_taxEi");
  EXPECT_EQ(chain[3].linkage_name, "_ZN4shop3buyEi");
}

TEST_P(DwarfTest, GivesEachFunctionOfAChainItsLine) {
  const auto chain = find_label("label_in_chain");
  ASSERT_EQ(chain.size(), 4u);
  EXPECT_EQ(chain[0].line, line_of("chain.cc", "add_tax"));
  EXPECT_EQ(chain[1].line, line_of("chain.cc", "add_shipping"));
  EXPECT_EQ(chain[2].line, line_of("chain.cc", "charge"));
  EXPECT_EQ(chain[3].line, line_of("chain.cc", "buy"));
  for (const SourceFunction& function : chain) {
    EXPECT_THAT(function.file, EndsWith("fixtures/chain.cc"));
    EXPECT_LT(function.start_line, function.line);
    EXPECT_GT(function.start_line, 0u);
  }
}

TEST_P(DwarfTest, CountsOffsetsFromTheFunctionsStart) {
  const std::uint64_t start = offset_of(path_, "_ZN4shop3buyEi").value;
  const FileOffset label = offset_of(path_, "label_in_chain");
  EXPECT_EQ(find_label("label_in_chain").back().offset, label.value - start);
  EXPECT_EQ(find_label("label_in_chain").front().offset, 0u);
  EXPECT_EQ(find_label("_ZN4shop3buyEi").back().offset, 0u);
}

TEST_P(DwarfTest, NamesStaticAnonymousAndCFunctions) {
  EXPECT_EQ(find_label("label_in_static").front().name, "file_local(int)");
  EXPECT_EQ(find_label("label_in_method").front().name, "(anonymous namespace)::Secret::hide(int)");
  const auto c = find_label("label_in_c_name").front();
  EXPECT_EQ(c.name, "plain_c_name");
  EXPECT_EQ(c.linkage_name, "plain_c_name");
}

TEST_P(DwarfTest, KeepsMangledNamesOnRequest) {
  Options options;
  options.demangle = false;
  EXPECT_THAT(names(find_label("label_in_chain", options)),
              ElementsAre("_ZN4shop7add_taxEi", "_ZN4shop12add_shippingEi",
                          "_ZN4shop4Till6chargeEi", "_ZN4shop3buyEi"));
}

TEST_P(DwarfTest, LeavesInlinedFunctionsOutOnRequest) {
  Options options;
  options.inlines = false;
  const auto functions = find_label("label_in_chain", options);
  EXPECT_THAT(names(functions), ElementsAre("shop::buy(int)"));
  EXPECT_EQ(functions.front().line, line_of("chain.cc", "buy"));
}

TEST_P(DwarfTest, NamesAFunctionsColdPartAfterTheFunction) {
  const auto functions = find_label("label_in_cold");
  EXPECT_THAT(names(functions), ElementsAre("mostly_hot(int)"));
  EXPECT_EQ(functions.front().line, line_of("chain.cc", "mostly_hot"));
  EXPECT_LT(functions.front().offset, 4096u);
}

// Assembly without DWARF between functions that have it.
TEST_P(DwarfTest, FallsBackToTheSymbolTable) {
  const auto functions = find_label("unsized_function");
  EXPECT_THAT(names(functions), ElementsAre("unsized_function"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, DwarfTest, testing::ValuesIn(dwarf_fixtures()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(Symbolizer, ReadsTheSymbolTableWhereThereIsNoDwarf) {
  const std::string path = fixture("chain_only_symtab");
  const auto functions = find(path, offset_of(path, "label_in_chain"));
  EXPECT_THAT(names(functions), ElementsAre("shop::buy(int)"));
  EXPECT_EQ(functions.front().file, "");
  EXPECT_EQ(functions.front().line, 0u);
  EXPECT_GT(functions.front().offset, 0u);
  const auto cold = find(path, offset_of(path, "label_in_cold")).front();
  EXPECT_EQ(cold.name, "mostly_hot(int)");
  EXPECT_EQ(cold.linkage_name, "_Z10mostly_hoti.cold");
}

TEST(Symbolizer, ReadsDynamicSymbolsOfAStrippedLibrary) {
  const std::string full = fixture("libdynamic_full.so");
  const std::string stripped = fixture("libdynamic.so");
  EXPECT_THAT(names(find(stripped, offset_of(full, "label_in_exported"))),
              ElementsAre("shelf::exported(char const*)"));
  EXPECT_THAT(names(find(full, offset_of(full, "label_in_hidden"))),
              ElementsAre("hidden_function(int)"));
  EXPECT_THAT(find(stripped, offset_of(full, "label_in_hidden")), IsEmpty());
}

TEST(Symbolizer, NamesStubsOfTheLinkageTable) {
  Symbolizer symbolizer;
  const auto module = symbolizer.open_module({fixture("libdynamic.so"), "", 0});
  std::set<std::string> stubs;
  for (std::uint64_t offset = 0x1000; offset < 0x1100; ++offset) {
    for (const auto& function : symbolizer.find_functions(module, {offset})) {
      if (function.name.ends_with("@plt")) stubs.emplace(function.name);
    }
  }
  EXPECT_THAT(stubs, testing::Contains("strtol@plt"));
}

TEST(Symbolizer, ReadsASeparateDebugFileByBuildId) {
  const TemporaryFolder folder;
  folder.add_by_build_id(fixture("chain.debug"), ".debug");
  Options options;
  options.debug_directories = {folder.path("")};
  const FileOffset label = offset_of(fixture("chain_dwarf5"), "label_in_chain");
  const auto chain = find(fixture("chain_stripped"), label, options);
  EXPECT_THAT(names(chain), ElementsAre("shop::add_tax(int)", "shop::add_shipping(int)",
                                        "shop::Till::charge(int)", "shop::buy(int)"));
  // The symbol table of the debug file is used, too.
  const FileOffset assembly = offset_of(fixture("chain_dwarf5"), "unsized_function");
  EXPECT_THAT(names(find(fixture("chain_stripped"), assembly, options)),
              ElementsAre("unsized_function"));
}

TEST(Symbolizer, NamesVariablesAndPlacesInThem) {
  const std::string full = fixture("chain_dwarf5");
  const ImageAddr sink = address_of(full, "_ZN4shop4sinkE");
  Symbolizer symbolizer;
  const auto module = symbolizer.open_module({full, "", 0});
  EXPECT_EQ(symbolizer.find_variable(module, sink), "shop::sink");
  EXPECT_EQ(symbolizer.find_variable(module, {sink.value + 3}), "shop::sink+0x3");
  EXPECT_EQ(symbolizer.find_variable(module, {sink.value + 4}), "") << "behind it";
  EXPECT_EQ(symbolizer.find_variable(module, address_of(full, "label_in_chain")), "") << "code";
  EXPECT_EQ(symbolizer.find_variable(module, {~std::uint64_t{0}}), "");
  TemporaryFolder folder;
  folder.add_by_build_id(fixture("chain.debug"), ".debug");
  Options options;
  options.debug_directories = {folder.path("")};
  Symbolizer with_debug_file(options);
  const auto separate = with_debug_file.open_module({fixture("chain_stripped"), "", 0});
  EXPECT_EQ(with_debug_file.find_variable(separate, sink), "shop::sink");
}

TEST(Symbolizer, HasNoNamesForAStrippedProgram) {
  const FileOffset label = offset_of(fixture("chain_dwarf5"), "label_in_chain");
  Options options;
  options.debug_directories = {};
  EXPECT_THAT(find(fixture("chain_stripped"), label, options), IsEmpty());
}

TEST(Symbolizer, SaysWhyAModuleWasRefused) {
  Symbolizer symbolizer;
  const std::string id = build_id_of(fixture("chain_dwarf5"));
  const auto wrong = symbolizer.open_module({fixture("chain_dwarf4"), id, 0});
  EXPECT_THAT(symbolizer.note(wrong), HasSubstr("another file"));
  EXPECT_THAT(symbolizer.find_functions(wrong, offset_of(fixture("chain_dwarf4"), "main")),
              IsEmpty());
  const auto deleted = symbolizer.open_module({"/no/such/file (deleted)", id, 0});
  EXPECT_THAT(symbolizer.note(deleted), HasSubstr("No such file"));
  EXPECT_EQ(symbolizer.image_address(deleted, {0x1234}).value, 0x1234u);
}

// Overwrites bytes of a section, `at` bytes after its start.
void overwrite(const std::string& path, std::string_view section, std::size_t at,
               const std::string& with) {
  const auto file = ElfFile::open(path);
  ASSERT_TRUE(file);
  std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(bytes)), {});
  const std::size_t start = all.find(file.value().section(section).bytes);
  ASSERT_NE(start, std::string::npos);
  bytes.clear();
  bytes.seekp(static_cast<std::streamoff>(start + at));
  bytes << with;
}

class DamageTest : public testing::Test {
 protected:
  std::size_t size_of(std::string_view section) const {
    return ElfFile::open(path_).value().section(section).bytes.size();
  }
  // The symbol table is still used, and the note states what is missing.
  void expect_symbols_and_a_note(std::string_view note) const {
    Symbolizer symbolizer;
    const auto module = symbolizer.open_module({path_, "", 0});
    EXPECT_THAT(names(symbolizer.find_functions(module, offset_of(path_, "label_in_chain"))),
                ElementsAre("shop::buy(int)"));
    EXPECT_THAT(symbolizer.note(module), HasSubstr(std::string(note)));
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.copy(fixture("chain_dwarf5"), "damaged");
};

TEST_F(DamageTest, IsNotedForAUnitsTree) {
  // Abbreviation codes that do not exist, after the unit's own entry.
  overwrite(path_, ".debug_info", 80, std::string(size_of(".debug_info") - 100, '\x7f'));
  expect_symbols_and_a_note("damaged debug information");
}

TEST_F(DamageTest, IsNotedForAnUnterminatedStringSection) {
  overwrite(path_, ".debug_str", size_of(".debug_str") - 1, "x");
  expect_symbols_and_a_note("damaged string section");
}

TEST_F(DamageTest, IsNotedForUnitsThatCannotBeRead) {
  overwrite(path_, ".debug_info", 4, "\x63\x63");  // version 0x6363
  expect_symbols_and_a_note("no unit can be read");
}

// It would take half a minute.
TEST(Symbolizer, GivesUpOnDebugInformationThatTakesTooLong) {
  const std::string path = fixture("slow");
  Options options;
  options.work_limit = std::chrono::milliseconds(50);
  for (const bool all_at_once : {false, true}) {
    Symbolizer symbolizer(options);
    const auto module = symbolizer.open_module({path, "", 0});
    const FileOffset main = offset_of(path, "main");
    const auto found = all_at_once
                           ? symbolizer.find_all(std::vector<Symbolizer::Lookup>{{module, main}})[0]
                           : symbolizer.find_functions(module, main);
    EXPECT_THAT(names(found), ElementsAre("main"));
    EXPECT_THAT(symbolizer.note(module), HasSubstr("takes too long"));
  }
}

TEST(Symbolizer, FindsManyAtOnceWhatItFindsOneByOne) {
  Symbolizer symbolizer, other;
  std::vector<Symbolizer::Lookup> lookups;
  for (const char* name :
       {"chain_dwarf5", "chain_split5", "chain_compressed", "chain_zdebug", "chain_only_symtab"}) {
    const auto module = symbolizer.open_module({fixture(name), "", 0});
    ASSERT_EQ(other.open_module({fixture(name), "", 0}), module);
    for (const FileOffset offset : function_bytes(fixture(name))) {
      lookups.push_back({module, offset});
    }
  }
  lookups.push_back({77, {0x1000}});
  lookups.push_back({0, {~std::uint64_t{0}}});
  const auto found = symbolizer.find_all(lookups);
  ASSERT_EQ(found.size(), lookups.size());
  for (std::size_t index = 0; index < lookups.size(); ++index) {
    const auto one = other.find_functions(lookups[index].module, lookups[index].offset);
    ASSERT_EQ(names(found[index]), names(one)) << "at " << lookups[index].offset.value;
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_EQ(found[index][at].line, one[at].line);
      EXPECT_EQ(found[index][at].file, one[at].file);
      EXPECT_EQ(found[index][at].offset, one[at].offset);
    }
  }
  EXPECT_THAT(names(found[0]), testing::Not(IsEmpty()));
}

TEST(Symbolizer, GivesTheSameHandleForTheSameSpec) {
  Symbolizer symbolizer;
  const std::string path = fixture("chain_dwarf5");
  const auto first = symbolizer.open_module({path, "", 0});
  EXPECT_EQ(symbolizer.open_module({path, "", 0}), first);
  EXPECT_NE(symbolizer.open_module({fixture("chain_dwarf4"), "", 0}), first);
  EXPECT_EQ(symbolizer.note(first), "");
}

TEST(Symbolizer, AnswersUnknownHandlesAndOffsetsWithNothing) {
  Symbolizer symbolizer;
  EXPECT_THAT(symbolizer.find_functions(77, {0x1000}), IsEmpty());
  EXPECT_EQ(symbolizer.note(77), "");
  const auto module = symbolizer.open_module({fixture("chain_dwarf5"), "", 0});
  EXPECT_THAT(symbolizer.find_functions(module, {0}), IsEmpty());
  EXPECT_THAT(symbolizer.find_functions(module, {~std::uint64_t{0}}), IsEmpty());
}

TEST(Symbolizer, NamesFunctionsOfTheVdso) {
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "no vDSO in this process";
  Symbolizer symbolizer;
  const auto vdso = symbolizer.open_module({"[vdso]", "", 0});
  EXPECT_EQ(symbolizer.note(vdso), "");
  std::set<std::string> found;
  for (std::uint64_t offset = 0; offset < 0x4000; ++offset) {
    for (const auto& function : symbolizer.find_functions(vdso, {offset})) {
      found.emplace(function.name);
    }
  }
  // The kernel exports both __vdso_clock_gettime and the weak clock_gettime.
  EXPECT_THAT(found, testing::Contains("clock_gettime"));
  const auto other = symbolizer.open_module({"[vdso]", "00112233", 0});
  EXPECT_THAT(symbolizer.note(other), HasSubstr("another file"));
}

}  // namespace
}  // namespace swipr::symbolize::test
