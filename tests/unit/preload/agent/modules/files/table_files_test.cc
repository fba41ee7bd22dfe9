#include "preload/agent/modules/files/table_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include "preload/agent/modules/kept_tables.h"

namespace swipr::agent {
namespace {

namespace fs = std::filesystem;
using unwind::Rule;
using unwind::TableKey;
using unwind::UnwindTable;

// Two rows: 32 bytes of code with a rule, 32 without.
constexpr std::uint32_t kPages[] = {0, 1, 1};
constexpr std::uint32_t kRows[] = {0, 32};
constexpr std::uint16_t kRowRules[] = {1, 0};
constexpr std::uint32_t kFunctions[] = {0};
constexpr Rule kRules[] = {{.flags = unwind::kRuleNone},
                           {.cfa_register = unwind::kStackRegister, .cfa_offset = 24}};

UnwindTable made_table() {
  UnwindTable table;
  table.base = 0x1000;
  table.covered_bytes = 64;
  table.page_shift = 6;
  table.row_count = 2;
  table.rule_count = 2;
  table.function_count = 1;
  table.page_rows = kPages;
  table.row_addresses = kRows;
  table.row_rules = kRowRules;
  table.function_starts = kFunctions;
  table.rules = kRules;
  return table;
}

TableKey made_key(unsigned number) {
  TableKey key{.build_id_bytes = 4};
  key.build_id[0] = static_cast<std::byte>(number);
  return key;
}

class AgentTableFiles : public testing::Test {
 protected:
  AgentTableFiles() {
    home_ = testing::TempDir() + "table_files." + std::to_string(::getpid());
    folder_ = home_ + "/.cache/swipr/tables";
    TableFiles::set_place("", home_);
  }
  ~AgentTableFiles() override {
    files_.close();
    TableFiles::set_place("", "");
    fs::remove_all(home_);
  }
  void open_new_folder() {
    fs::create_directories(folder_);
    ::chmod(folder_.c_str(), 0700);
    files_.open();
  }
  bool loads(const TableKey& key) {
    const UnwindTable* const table = files_.load(key);
    if (table == nullptr) return false;
    EXPECT_NE(table->find(0x1000 + 31), nullptr);
    EXPECT_EQ(table->find(0x1000 + 32), nullptr);
    unwind::destroy_table(table);
    return true;
  }
  std::string path() const { return folder_ + "/2a000000-0"; }

  std::string home_;
  std::string folder_;
  TableFiles files_;
  UnwindTable table_ = made_table();
  TableKey key_ = made_key(42);
};

TEST_F(AgentTableFiles, KeepsATableUnderItsBuildId) {
  open_new_folder();
  EXPECT_FALSE(loads(key_));
  files_.store(table_, key_);
  EXPECT_TRUE(loads(key_));
  EXPECT_FALSE(loads(made_key(43)));
  ASSERT_TRUE(fs::exists(path()));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(AgentTableFiles, PartsOfAnImageHaveFilesOfTheirOwn) {
  open_new_folder();
  TableKey other = key_;
  other.text_begin = 0x20000;
  files_.store(table_, key_);
  EXPECT_FALSE(loads(other));
  files_.store(table_, other);
  EXPECT_TRUE(loads(other));
  EXPECT_TRUE(loads(key_));
  EXPECT_TRUE(fs::exists(folder_ + "/2a000000-20000"));
}

TEST_F(AgentTableFiles, PrefersTheCacheHome) {
  TableFiles::set_place(home_ + "/other", home_);
  folder_ = home_ + "/other/swipr/tables";
  open_new_folder();
  files_.store(table_, key_);
  EXPECT_TRUE(fs::exists(path()));
}

TEST_F(AgentTableFiles, MakesNoFolder) {
  fs::create_directories(home_);
  files_.open();
  files_.store(table_, key_);
  EXPECT_FALSE(loads(key_));
  EXPECT_TRUE(fs::is_empty(home_));
}

TEST_F(AgentTableFiles, DoesWithoutAPlace) {
  TableFiles::set_place("relative", "");
  open_new_folder();
  files_.store(table_, key_);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AgentTableFiles, LeavesAFolderAloneThatOthersMayWriteTo) {
  fs::create_directories(folder_);
  ::chmod(folder_.c_str(), 0770);
  files_.open();
  files_.store(table_, key_);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AgentTableFiles, LeavesAFolderAloneThatIsALink) {
  fs::create_directories(home_ + "/elsewhere");
  fs::create_directories(home_ + "/.cache/swipr");
  fs::create_symlink(home_ + "/elsewhere", folder_);
  files_.open();
  files_.store(table_, key_);
  EXPECT_TRUE(fs::is_empty(home_ + "/elsewhere"));
}

TEST_F(AgentTableFiles, BelievesNoFileThatSomebodyElseMayHaveWritten) {
  open_new_folder();
  files_.store(table_, key_);
  ::chmod(path().c_str(), 0620);
  EXPECT_FALSE(loads(key_));
  ::chmod(path().c_str(), 0602);
  EXPECT_FALSE(loads(key_));
  ::chmod(path().c_str(), 0600);
  EXPECT_TRUE(loads(key_));
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(loads(key_));
}

TEST_F(AgentTableFiles, ReadsOrdinaryFilesOnly) {
  open_new_folder();
  files_.store(table_, key_);
  fs::rename(path(), folder_ + "/there");
  fs::create_symlink(folder_ + "/there", path());
  EXPECT_FALSE(loads(key_));
  fs::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(loads(key_));  // and does not wait for a writer
  fs::remove(path());
  fs::create_directory(path());
  EXPECT_FALSE(loads(key_));
}

TEST_F(AgentTableFiles, DamageIsAsAbsenceAndIsReplaced) {
  open_new_folder();
  files_.store(table_, key_);
  const auto bytes = fs::file_size(path());
  for (const std::uintmax_t kept : {std::uintmax_t{0}, std::uintmax_t{100}, bytes - 1}) {
    fs::resize_file(path(), kept);
    EXPECT_FALSE(loads(key_)) << kept;
  }
  std::ofstream(path()) << std::string(10'000, 'x');
  EXPECT_FALSE(loads(key_));
  files_.store(table_, key_);
  EXPECT_TRUE(loads(key_));
}

TEST_F(AgentTableFiles, WithoutABuildIdThereIsNoFile) {
  open_new_folder();
  files_.store(table_, TableKey{});
  EXPECT_TRUE(fs::is_empty(folder_));
}

const UnwindTable* owned_table() {
  void* const memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const table = new (memory) UnwindTable(made_table());
  table->mapping = {memory, 4096};
  return table;
}

TEST(AgentKeptTables, GivesEachBackOnceAndKeepsTheLatest) {
  KeptTables kept;
  const UnwindTable* tables[3];
  for (unsigned at = 0; at < 3; ++at) {
    tables[at] = owned_table();
    kept.put(tables[at], made_key(at));
  }
  EXPECT_EQ(kept.take(made_key(7)), nullptr);
  EXPECT_EQ(kept.take(made_key(1)), tables[1]);
  EXPECT_EQ(kept.take(made_key(1)), nullptr);
  kept.put(tables[1], made_key(1));
  kept.trim(2 * 4096);
  EXPECT_EQ(kept.take(made_key(0)), nullptr);
  EXPECT_EQ(kept.take(made_key(2)), tables[2]);
  kept.put(tables[2], made_key(2));
  kept.put(owned_table(), TableKey{});  // cannot be distinguished from others
  kept.trim(0);
  EXPECT_EQ(kept.take(made_key(1)), nullptr);
  EXPECT_EQ(kept.take(made_key(2)), nullptr);
}

}  // namespace
}  // namespace swipr::agent
