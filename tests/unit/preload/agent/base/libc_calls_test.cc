#include "preload/agent/base/libc_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "preload/agent/base/random.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {
namespace {

TEST(LibcCalls, StatIsThatOfTheBuildsLibc) {
  struct stat expected {};
  ASSERT_EQ(::stat("/proc/self/exe", &expected), 0);
  struct stat followed {};
  struct stat link {};
  struct stat opened {};
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(libc::stat("/proc/self/exe", &followed), 0);
  EXPECT_EQ(libc::lstat("/proc/self/exe", &link), 0);
  EXPECT_EQ(libc::fstat(fd, &opened), 0);
  ::close(fd);
  EXPECT_EQ(followed.st_ino, expected.st_ino);
  EXPECT_EQ(followed.st_size, expected.st_size);
  EXPECT_EQ(opened.st_ino, expected.st_ino);
  EXPECT_TRUE(S_ISLNK(link.st_mode));
}

TEST(LibcCalls, ErrorsAreInErrno) {
  struct stat status {};
  errno = 0;
  EXPECT_EQ(libc::stat("/nowhere", &status), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(libc::fstat(-1, &status), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(LibcCalls, SymbolsAreFound) {
  EXPECT_EQ(libc::dlsym(RTLD_DEFAULT, "getppid"), ::dlsym(RTLD_DEFAULT, "getppid"));
  EXPECT_EQ(libc::dlsym(RTLD_DEFAULT, "no_such_function"), nullptr);
  EXPECT_NE(libc::dlerror(), nullptr);
}

TEST(LibcCalls, ThreadsRun) {
  std::atomic<pid_t> tid{0};
  const auto routine = [](void* place) -> void* {
    static_cast<std::atomic<pid_t>*>(place)->store(libc::gettid());
    static_cast<std::atomic<pid_t>*>(place)->notify_one();
    return nullptr;
  };
  ASSERT_EQ(libc::start_thread(routine, &tid, 1 << 20), 0);
  tid.wait(0);
  EXPECT_NE(tid.load(), libc::gettid());
}

// libc takes its default size, 2 MiB or more, where it refuses what is asked for. The stack may be
// that of a thread that has ended, and then up to four times as large as asked for; tests above
// make stacks of 1 MiB. Source: glibc 2.36, nptl/allocatestack.c, get_cached_stack.
TEST(LibcCalls, ThreadsHaveSmallStacks) {
  std::atomic<std::size_t> bytes{0};
  const auto routine = [](void* place) -> void* {
    pthread_attr_t attributes;
    std::size_t size = ~std::size_t{0};
    if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
      ::pthread_attr_getstacksize(&attributes, &size);
      ::pthread_attr_destroy(&attributes);
    }
    static_cast<std::atomic<std::size_t>*>(place)->store(size);
    static_cast<std::atomic<std::size_t>*>(place)->notify_one();
    return nullptr;
  };
  ASSERT_EQ(libc::start_thread(routine, &bytes, unwind::kLeastStackBytes), 0);
  bytes.wait(0);
  EXPECT_LT(bytes.load(), std::size_t{2} << 20);
}

TEST(FillRandom, FillsAllBytes) {
  std::array<std::uint8_t, 64> first{};
  std::array<std::uint8_t, 64> second{};
  EXPECT_TRUE(fill_random(first));
  EXPECT_TRUE(fill_random(second));
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace swipr::agent
