#include "preload/agent/module_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace swipr::agent {
namespace {

// Of the first shared object that has one, from memory: libc in any build.
int find_any_build_id(dl_phdr_info* info, std::size_t, void* out) {
  if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/') return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(info->dlpi_addr + segment.p_vaddr);
    if (note->n_type != NT_GNU_BUILD_ID) continue;
    const auto* id = reinterpret_cast<const unsigned char*>(note + 1) + 4;
    constexpr char kDigits[] = "0123456789abcdef";
    for (unsigned k = 0; k < note->n_descsz; ++k) {
      static_cast<std::string*>(out)->push_back(kDigits[id[k] >> 4]);
      static_cast<std::string*>(out)->push_back(kDigits[id[k] & 15]);
    }
    return 1;
  }
  return 0;
}

TEST(AgentModuleFile, OpensAMappedFileByItsBuildId) {
  std::string build_id;
  ASSERT_EQ(::dl_iterate_phdr(find_any_build_id, &build_id), 1);
  const ModuleFile file = open_module_file(build_id);
  ASSERT_GE(file.fd, 0);
  EXPECT_GT(file.size_bytes, 1000u);
  char magic[4];
  ASSERT_EQ(::read(file.fd, magic, sizeof magic), 4);
  EXPECT_EQ(std::memcmp(magic, ELFMAG, SELFMAG), 0);
  ::close(file.fd);
}

TEST(AgentModuleFile, OpensNothingElse) {
  for (const char* build_id : {"", "00", "../../etc/passwd", "/etc/passwd"}) {
    EXPECT_EQ(open_module_file(build_id).fd, -1) << build_id;
  }
}

}  // namespace
}  // namespace swipr::agent
