#include "cli/session/launch/program.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using testing::Contains;
using testing::HasSubstr;

void write_program(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary) << contents;
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
}

// An ELF header of this machine, without segments: counts as statically linked.
std::string elf_header(unsigned char elf_class, std::uint16_t machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = machine;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof header;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

std::uint16_t own_machine() {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header{};
  self.read(reinterpret_cast<char*>(&header), sizeof header);
  return header.e_machine;
}

TEST(FindProgram, LooksAlongThePath) {
  EXPECT_THAT(find_program("sh").path, testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("no-such-program-anywhere").error, ENOENT);
  EXPECT_EQ(find_program("").error, ENOENT);
}

TEST(FindProgram, TellsMissingFromNotExecutable) {
  TemporaryFolder folder;
  std::ofstream(folder.file("data")) << "x";
  EXPECT_EQ(find_program(folder.file("missing")).error, ENOENT);
  EXPECT_EQ(find_program(folder.file("data")).error, EACCES);
  EXPECT_EQ(find_program(folder.file("")).error, EACCES);
}

TEST(ReadElfTraits, KnowsThisProgram) {
  const auto traits = read_elf_traits("/proc/self/exe");
  ASSERT_TRUE(traits);
  EXPECT_TRUE(traits->native);
  EXPECT_THAT(traits->interpreter, HasSubstr("ld-linux"));
  EXPECT_THAT(traits->needed, Contains(HasSubstr("libc.so")));
  EXPECT_FALSE(traits->is_truncated);
  EXPECT_EQ(find_obstacle("/proc/self/exe"), std::nullopt);
}

TEST(FindObstacle, NamesStaticForeignAnd32BitPrograms) {
  TemporaryFolder folder;
  const std::string path = folder.file("program");
  write_program(path, elf_header(ELFCLASS64, own_machine()));
  EXPECT_THAT(find_obstacle(path).value_or(""), HasSubstr("statically linked"));
  write_program(path, elf_header(ELFCLASS32, EM_386));
  EXPECT_THAT(find_obstacle(path).value_or(""), HasSubstr("32-bit"));
  write_program(path, elf_header(ELFCLASS64, EM_S390));
  EXPECT_THAT(find_obstacle(path).value_or(""), HasSubstr("another architecture"));
}

TEST(FindObstacle, LooksThroughScripts) {
  TemporaryFolder folder;
  const std::string program = folder.file("program");
  const std::string script = folder.file("script");
  const std::string outer = folder.file("outer");
  write_program(program, elf_header(ELFCLASS64, own_machine()));
  write_program(script, "#! " + program + " -x\n");
  write_program(outer, "#!" + script + "\n");
  EXPECT_EQ(resolve_interpreter(outer), program);
  EXPECT_THAT(find_obstacle(outer).value_or(""), HasSubstr("runs " + program));
}

TEST(FindObstacle, NamesSetuidPrograms) {
  TemporaryFolder folder;
  const std::string path = folder.file("program");
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::ofstream(path, std::ios::binary) << self.rdbuf();
  if (::chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root makes foreign files";
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  EXPECT_THAT(find_obstacle(path).value_or(""), HasSubstr("setuid"));
}

TEST(ReadElfTraits, SurvivesDamage) {
  TemporaryFolder folder;
  const std::string path = folder.file("program");
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string image(4096, '\0');
  self.read(image.data(), static_cast<std::streamsize>(image.size()));
  for (std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{20}, std::size_t{64}, std::size_t{100}}) {
    write_program(path, std::string_view(image).substr(0, size));
    const auto traits = read_elf_traits(path);
    EXPECT_TRUE(!traits || traits->needed.empty()) << size;
  }
  write_program(path, image);
  EXPECT_TRUE(read_elf_traits(path).value_or(ElfTraits{}).is_truncated);
  // Program headers with every byte set: sizes and offsets beyond any file.
  for (std::size_t i = sizeof(Elf64_Ehdr); i < 1024; ++i) image[i] = '\xff';
  write_program(path, image);
  const auto traits = read_elf_traits(path);
  ASSERT_TRUE(traits);
  EXPECT_EQ(traits->interpreter, "");
}

TEST(FindLeadingRuntime, IsThatOfASanitizer) {
  ElfTraits traits;
  traits.needed = {"libstdc++.so.6", "libasan.so.8", "libc.so.6"};
  EXPECT_EQ(find_leading_runtime(traits), "libasan.so.8");
  traits.needed = {"libtsan.so.2", "libc.so.6"};
  EXPECT_EQ(find_leading_runtime(traits), "libtsan.so.2");
  traits.needed = {"libstdc++.so.6", "libc.so.6"};
  EXPECT_EQ(find_leading_runtime(traits), "");
}

}  // namespace
}  // namespace swipr::session
