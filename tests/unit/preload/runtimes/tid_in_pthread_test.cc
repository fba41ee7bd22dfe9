#include "preload/runtimes/tid_in_pthread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

namespace swipr::runtimes {
namespace {

TEST(TidInPthread, IsThatOfEachThread) {
  const std::uint32_t at = find_tid_in_pthread();
  ASSERT_NE(at, 0u);
  std::thread([at] {
    std::int32_t tid = 0;
    std::memcpy(&tid, reinterpret_cast<const std::byte*>(::pthread_self()) + at, sizeof tid);
    EXPECT_EQ(tid, ::syscall(SYS_gettid));
    EXPECT_EQ(find_tid_in_pthread(), at);
  }).join();
}

TEST(TidInPthread, IsNoHalfOfAPointer) {
  constexpr std::int32_t kTid = 0x7fff;
  constexpr std::size_t kPlace = 5;
  std::array<std::uint64_t, 8> descriptor;
  descriptor.fill(0x7fff'f7d8'0000);
  descriptor[kPlace] = kTid;
  const auto bytes = std::as_bytes(std::span(descriptor));
  EXPECT_EQ(find_tid(bytes, kTid), kPlace * sizeof descriptor[0]);
  EXPECT_EQ(find_tid(bytes, kTid + 1), 0u);
  EXPECT_EQ(find_tid(bytes.first(kPlace * sizeof descriptor[0]), kTid), 0u);
}

}  // namespace
}  // namespace swipr::runtimes
