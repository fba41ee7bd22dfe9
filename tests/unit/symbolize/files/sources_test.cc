// Sources of names other than the module's own sections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/host/unique_fd.h"
#include "symbolize/elf/mini_debug_info.h"
#include "symbolize/files/debug_files.h"
#include "symbolize/files/debuginfod.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const auto kChain = ElementsAre("shop::add_tax(int)", "shop::add_shipping(int)",
                                "shop::Till::charge(int)", "shop::buy(int)");

class SourcesTest : public testing::Test {
 protected:
  SourcesTest() { options_.debug_directories = {}; }

  std::vector<std::string> chain_in(const ModuleSpec& spec) {
    Symbolizer symbolizer(options_);
    const auto module = symbolizer.open_module(spec);
    auto found = names(
        symbolizer.find_functions(module, offset_of(fixture("chain_dwarf5"), "label_in_chain")));
    note_ = symbolizer.note(module);
    return found;
  }

  TemporaryFolder folder_;
  Options options_;
  std::string note_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(SourcesTest, ShowsOfOneFunctionTheBestName) {
  const FileOffset place = offset_of(fixture("aliases"), "label_in_say");
  for (const char* name : {"aliases", "aliases_only_symtab"}) {
    Symbolizer symbolizer;
    const auto found =
        symbolizer.find_functions(symbolizer.open_module({fixture(name), "", 0}), place);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "say") << "global, without underscores, the shortest";
    EXPECT_EQ(found[0].linkage_name, "say");
  }
}

TEST_F(SourcesTest, ChecksTheCrcOfALinkedFileWithoutBuildId) {
  const auto image = ElfFile::open(fixture("without_id_linked"));
  ASSERT_TRUE(image);
  folder_.copy(fixture("without_id.debug"), "without_id.debug");
  EXPECT_TRUE(find_debug_file(image.value(), folder_.path("program"), options_));
  std::ofstream(folder_.path("without_id.debug"), std::ios::app) << "x";
  EXPECT_FALSE(find_debug_file(image.value(), folder_.path("program"), options_));
}

TEST_F(SourcesTest, ReadsTheSymbolTableInGnuDebugdata) {
  EXPECT_THAT(chain_in({fixture("chain_mini"), "", 0}), ElementsAre("shop::buy(int)"));
  EXPECT_THAT(chain_in({fixture("chain_stripped"), "", 0}), IsEmpty());
}

TEST_F(SourcesTest, LeavesDamagedGnuDebugdata) {
  const std::string path = folder_.copy(fixture("chain_mini"), "damaged");
  std::string bytes = bytes_of(path);
  const auto at = bytes.find(std::string("\xFD") + "7zXZ");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at + 30, 20, std::string(20, '\x55'));
  std::ofstream(path, std::ios::binary) << bytes;
  const auto image = ElfFile::open(path);
  ASSERT_TRUE(image);
  EXPECT_FALSE(find_mini_debug_info(image.value()));
}

TEST_F(SourcesTest, NamesTheSplitFileThatIsMissing) {
  // The unit contains its compilation folder, so the program must name another one.
  const std::string path = folder_.copy(fixture("chain_split5"), "moved");
  std::string bytes = bytes_of(path);
  const std::string name = "chain_split5-chain.dwo";
  const auto at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, name.size(), "chain_gone00-chain.dwo");
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_THAT(chain_in({path, "", 0}), ElementsAre("shop::buy(int)"));
  EXPECT_THAT(note_, HasSubstr("chain_gone00-chain.dwo"));
}

TEST_F(SourcesTest, ReadsSectionsCompressedWithZstd) {
  EXPECT_THAT(chain_in({fixture("chain_zstd"), "", 0}), kChain);
  EXPECT_EQ(note_, "");
}

TEST_F(SourcesTest, LooksIntoAPackageBeforeTheSplitFiles) {
  const std::string original = fixture("package5/chain");
  if (!std::filesystem::exists(original)) GTEST_SKIP() << "clang++ or llvm-dwp is missing";
  const std::string path = folder_.copy(original, "moved");
  const auto chain = [&] {
    Symbolizer symbolizer(options_);
    const auto module = symbolizer.open_module({path, "", 0});
    auto found = names(symbolizer.find_functions(module, offset_of(path, "label_in_chain")));
    note_ = symbolizer.note(module);
    return found;
  };
  EXPECT_THAT(chain(), ElementsAre("shop::buy(int)"));
  EXPECT_THAT(note_, HasSubstr("chain.dwo"));
  // The package of another program has other units.
  folder_.copy(fixture("package4/chain") + ".dwp", "moved.dwp");
  EXPECT_THAT(chain(), ElementsAre("shop::buy(int)"));
  folder_.copy(original + ".dwp", "moved.dwp");
  EXPECT_THAT(chain(), kChain);
  EXPECT_EQ(note_, "");
}

TEST_F(SourcesTest, LooksBelowTheSymfs) {
  const std::string id = build_id_of(fixture("chain_dwarf5"));
  folder_.copy(fixture("chain_dwarf5"), "opt/app/program");
  options_.symfs = folder_.path("");
  EXPECT_THAT(chain_in({"/opt/app/program", id, 0}), kChain);
  EXPECT_THAT(chain_in({"/opt/app/program", "", 0}), kChain);
  // A file of this system counts as a different one unless its build-id matches.
  EXPECT_THAT(chain_in({fixture("chain_dwarf5"), "", 0}), IsEmpty());
  EXPECT_THAT(chain_in({fixture("chain_dwarf5"), id, 0}), kChain);
}

TEST_F(SourcesTest, KeepsLinksInsideTheSymfs) {
  folder_.copy(fixture("chain_dwarf5"), "lib/program");
  std::filesystem::create_symlink("/lib/program", folder_.path("link"));
  std::filesystem::create_symlink(fixture("chain_dwarf5"), folder_.path("out"));
  options_.symfs = folder_.path("");
  EXPECT_THAT(chain_in({"/link", "", 0}), kChain);
  EXPECT_THAT(chain_in({"/out", "", 0}), IsEmpty());
}

// A mapped file of this process, so that /proc has it.
class Mapping {
 public:
  Mapping(int fd, std::size_t size)
      : size_(size), address_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  ~Mapping() { ::munmap(address_, size_); }
  RuntimeAddr start() const { return {reinterpret_cast<std::uintptr_t>(address_)}; }
  std::uint64_t size_bytes() const { return (size_ + 4095) & ~std::uint64_t{4095}; }

 private:
  std::size_t size_;
  void* address_;
};

TEST_F(SourcesTest, OpensDeletedFilesAndMemfdsThroughTheirMapping) {
  if (::access("/proc/self/map_files", X_OK) != 0 || ::geteuid() != 0) {
    GTEST_SKIP() << "only root may open what is mapped";
  }
  const std::string bytes = bytes_of(fixture("chain_dwarf5"));
  const host::UniqueFd memory(::memfd_create("code", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.value(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  const Mapping mapping(memory.value(), bytes.size());
  ModuleSpec spec{"/memfd:code (deleted)", "", ::getpid(), mapping.start(), mapping.size_bytes()};
  EXPECT_THAT(chain_in(spec), kChain);
  spec.path = "/memfd:other (deleted)";
  EXPECT_THAT(chain_in(spec), IsEmpty());
  spec.build_id = build_id_of(fixture("chain_dwarf5"));
  EXPECT_THAT(chain_in(spec), kChain);
}

// A stand-in for `debuginfod` that serves the given files.
class FileServer {
 public:
  FileServer() {
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
    ::setenv("DEBUGINFOD_URLS", ("http://127.0.0.1:" + std::to_string(port_)).c_str(), 1);
    ::setenv("DEBUGINFOD_CACHE_PATH", cache_.path("").c_str(), 1);
  }
  ~FileServer() {
    server_.stop();
    thread_.join();
    ::unsetenv("DEBUGINFOD_URLS");
    ::unsetenv("DEBUGINFOD_CACHE_PATH");
  }
  void serve(const std::string& path, const std::string& file) {
    server_.Get(path, [body = bytes_of(file)](const httplib::Request&, httplib::Response& answer) {
      answer.set_content(body, "application/octet-stream");
    });
  }

 private:
  TemporaryFolder cache_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(SourcesTest, AsksDebuginfod) {
  FileServer server;
  if (!has_debuginfod()) GTEST_SKIP() << "libdebuginfod is not installed";
  const std::string id = build_id_of(fixture("chain_dwarf5"));
  server.serve("/buildid/" + id + "/debuginfo", fixture("chain.debug"));
  server.serve("/buildid/" + id + "/executable", fixture("chain_stripped"));
  EXPECT_THAT(chain_in({fixture("chain_stripped"), id, 0}), IsEmpty());
  options_.debuginfod = true;
  EXPECT_THAT(chain_in({fixture("chain_stripped"), id, 0}), kChain);
  EXPECT_THAT(chain_in({"/no/such/file", id, 0}), kChain);
  EXPECT_EQ(note_, "");
}

TEST_F(SourcesTest, RefusesAnotherFileFromDebuginfod) {
  FileServer server;
  if (!has_debuginfod()) GTEST_SKIP() << "libdebuginfod is not installed";
  const std::string id = build_id_of(fixture("chain_dwarf5"));
  server.serve("/buildid/" + id + "/debuginfo", fixture("chain_dwarf4"));
  options_.debuginfod = true;
  EXPECT_THAT(chain_in({fixture("chain_stripped"), id, 0}), IsEmpty());
}

}  // namespace
}  // namespace swipr::symbolize::test
