#include "preload/agent/modules/files/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "preload/unwind/base/architecture.h"

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

// A copy of that shared object with a build-id of its own, mapped, and then deleted.
class DeletedFile {
 public:
  explicit DeletedFile(int protection) {
    std::string id;
    ::dl_iterate_phdr(find_any_build_id, &id);
    const ModuleFile original = open_module_file(id);
    std::string bytes(original.size_bytes, '\0');
    EXPECT_EQ(::pread(original.fd, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    ::close(original.fd);
    std::string raw;
    for (std::size_t at = 0; at < id.size(); at += 2) {
      raw += static_cast<char>(std::stoi(id.substr(at, 2), nullptr, 16));
    }
    const std::size_t place = bytes.find(raw);
    bytes.replace(place, 4, "\xab\xab\xab\xab");
    build_id_ = "abababab" + id.substr(8);
    size_ = bytes.size();
    fd_ = ::memfd_create("module", MFD_CLOEXEC);
    EXPECT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    memory_ = ::mmap(nullptr, size_, protection, MAP_PRIVATE, fd_, 0);
    ::close(fd_);
  }
  ~DeletedFile() { ::munmap(memory_, size_); }
  DeletedFile(const DeletedFile&) = delete;
  DeletedFile& operator=(const DeletedFile&) = delete;

  // This process may follow its links to mappings.
  bool can_be_opened() const {
    char link[96];
    const auto start = reinterpret_cast<std::uintptr_t>(memory_);
    const std::size_t bytes = (size_ + unwind::page_bytes() - 1) & -unwind::page_bytes();
    std::snprintf(link, sizeof link, "/proc/self/map_files/%lx-%lx", start, start + bytes);
    const int fd = ::open(link, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  }
  void copy_to(const std::string& path) const {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    EXPECT_EQ(::write(fd, memory_, size_), static_cast<ssize_t>(size_));
    ::close(fd);
  }
  const std::string& build_id() const { return build_id_; }
  std::size_t size() const { return size_; }

 private:
  std::string build_id_;
  std::size_t size_ = 0;
  int fd_ = -1;
  void* memory_ = nullptr;
};

TEST(AgentModuleFile, OpensADeletedFileWhereTheKernelPermits) {
  const DeletedFile mapped(PROT_READ | PROT_EXEC);
  const ModuleFile file = open_module_file(mapped.build_id());
  EXPECT_EQ(file.fd >= 0, mapped.can_be_opened());
  if (file.fd < 0) return;
  EXPECT_EQ(file.size_bytes, mapped.size());
  ::close(file.fd);
}

TEST(AgentModuleFile, OpensNoFileThatIsMappedAsData) {
  const DeletedFile mapped(PROT_READ);
  EXPECT_EQ(open_module_file(mapped.build_id()).fd, -1);
}

// Its inode; 0: there is none. Without permission to follow links of mappings.
ino_t inode_of_module(const std::string& build_id) {
  constexpr uid_t kNobody = 65534;
  const uid_t user = ::geteuid();
  EXPECT_TRUE(user != 0 || ::seteuid(kNobody) == 0);
  const ModuleFile file = open_module_file(build_id);
  EXPECT_EQ(::seteuid(user), 0);
  if (file.fd < 0) return 0;
  struct stat status {};
  EXPECT_EQ(::fstat(file.fd, &status), 0);
  ::close(file.fd);
  return status.st_ino;
}

// Any file that has the name that the kernel shows, here that of a deleted file, and the same
// build-id.
TEST(AgentModuleFile, OpensNoOtherFileOfTheMappedOnesName) {
  const DeletedFile contents(PROT_READ);
  const std::string path = testing::TempDir() + "module_file_test." + std::to_string(::getpid());
  contents.copy_to(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const mapped = ::mmap(nullptr, contents.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  struct stat original {};
  ASSERT_EQ(::fstat(fd, &original), 0);
  ::close(fd);
  EXPECT_EQ(inode_of_module(contents.build_id()), original.st_ino);
  ::unlink(path.c_str());
  const std::string shown = path + " (deleted)";
  contents.copy_to(shown);
  EXPECT_EQ(inode_of_module(contents.build_id()), 0u);
  ::unlink(shown.c_str());
  ::munmap(mapped, contents.size());
}

TEST(AgentModuleFile, OpensNothingElse) {
  for (const char* build_id : {"", "00", "../../etc/passwd", "/etc/passwd"}) {
    EXPECT_EQ(open_module_file(build_id).fd, -1) << build_id;
  }
}

}  // namespace
}  // namespace swipr::agent
