#include "preload/unwind/walk/page_probe_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {
namespace {

// Two readable pages and an unreadable one after them, at the end and the beginning of the
// kernel's.
class PageProbeReaderTest : public testing::Test {
 protected:
  PageProbeReaderTest()
      : mapped_(static_cast<std::byte*>(::mmap(nullptr, 3 * page_bytes(), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        memory_(mapped_ + 2 * (page_bytes() - kPageBytes)) {
    ::mprotect(mapped_ + 2 * page_bytes(), page_bytes(), PROT_NONE);
  }
  ~PageProbeReaderTest() override { ::munmap(mapped_, 3 * page_bytes()); }
  std::uint64_t address(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory_) + offset;
  }
  void put(std::uint64_t offset, std::uint64_t value) {
    std::memcpy(memory_ + offset, &value, sizeof value);
  }

  std::byte* mapped_;
  std::byte* memory_;
  PageProbeReader reader_;
};

TEST_F(PageProbeReaderTest, ReadsWordsOfReadablePages) {
  put(0, 11);
  put(kPageBytes + 16, 22);
  std::uint64_t word = 0;
  EXPECT_TRUE(reader_.read_word(address(0), word));
  EXPECT_EQ(word, 11u);
  EXPECT_TRUE(reader_.read_word(address(kPageBytes + 16), word));
  EXPECT_EQ(word, 22u);
}

TEST_F(PageProbeReaderTest, ReadsWordsThatStraddlePages) {
  put(kPageBytes - 3, 0x1122334455667788);
  std::uint64_t word = 0;
  EXPECT_TRUE(reader_.read_word(address(kPageBytes - 3), word));
  EXPECT_EQ(word, 0x1122334455667788u);
  EXPECT_TRUE(reader_.read_word(address(2 * kPageBytes - 8), word));
  EXPECT_FALSE(reader_.read_word(address(2 * kPageBytes - 7), word));
}

TEST_F(PageProbeReaderTest, RefusesUnreadablePages) {
  std::uint64_t word = 0;
  EXPECT_FALSE(reader_.read_word(address(2 * kPageBytes), word));
  EXPECT_TRUE(reader_.read_word(address(0), word));
  EXPECT_FALSE(reader_.read_word(address(2 * kPageBytes), word));
  for (const std::uint64_t wild : {0ull, 1ull, 0xfffull, 0x4141414141414141ull, ~0ull, ~0ull - 7,
                                   0xffffffffff600000ull, 0x8000000000000000ull}) {
    EXPECT_FALSE(reader_.read_word(wild, word)) << std::hex << wild;
  }
}

TEST_F(PageProbeReaderTest, RefusesWildAddressesAlsoWhenTheyComeFirst) {
  for (const std::uint64_t wild : {0ull, 0x7ull, 0xfffull, ~0ull, ~0ull - 7, ~0ull - 4095}) {
    PageProbeReader fresh;
    std::uint64_t word = 0;
    EXPECT_FALSE(fresh.read_word(wild, word)) << std::hex << wild;
  }
}

TEST_F(PageProbeReaderTest, GoesOnFromAPageThatIsKnown) {
  put(kPageBytes - 8, 44);
  put(2 * kPageBytes - 8, 55);
  for (const std::uint64_t known : {address(0), address(kPageBytes - 1), address(kPageBytes)}) {
    PageProbeReader reader(known);
    std::uint64_t word = 0;
    EXPECT_TRUE(reader.read_word(address(kPageBytes - 8), word));
    EXPECT_EQ(word, 44u);
    EXPECT_TRUE(reader.read_word(address(2 * kPageBytes - 8), word));
    EXPECT_EQ(word, 55u);
    EXPECT_TRUE(reader.read_word(address(kPageBytes - 4), word));
    EXPECT_FALSE(reader.read_word(address(2 * kPageBytes - 7), word));
    EXPECT_FALSE(reader.read_word(address(2 * kPageBytes), word));
    EXPECT_TRUE(reader.read_word(address(kPageBytes - 8), word));
  }
}

TEST_F(PageProbeReaderTest, ServesAsStackReader) {
  put(64, 33);
  const StackReader stack_reader = reader_.stack_reader();
  std::uint64_t word = 0;
  EXPECT_TRUE(stack_reader.read_word(stack_reader.state, address(64), word));
  EXPECT_EQ(word, 33u);
  EXPECT_FALSE(stack_reader.read_word(stack_reader.state, address(2 * kPageBytes), word));
}

TEST_F(PageProbeReaderTest, KeepsErrno) {
  errno = 4242;
  std::uint64_t word = 0;
  EXPECT_FALSE(reader_.read_word(address(2 * kPageBytes), word));
  EXPECT_TRUE(reader_.read_word(address(8), word));
  EXPECT_EQ(errno, 4242);
}

}  // namespace
}  // namespace swipr::unwind
