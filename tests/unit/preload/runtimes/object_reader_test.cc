#include "preload/runtimes/object_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {
namespace {

// Pages of which the odd ones are unreadable, unless they are smaller than the kernel's.
class Pages {
 public:
  explicit Pages(std::size_t count, std::size_t page = unwind::page_bytes())
      : count_(count),
        page_(page),
        begin_(static_cast<std::byte*>(::mmap(nullptr, count * page, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    for (std::size_t i = 1; i < count; i += 2) ::mprotect(begin_ + i * page, page, PROT_NONE);
  }
  ~Pages() { ::munmap(begin_, count_ * page_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* at(std::size_t page) const { return begin_ + page * page_; }
  std::uint64_t address(std::size_t page) const {
    return reinterpret_cast<std::uint64_t>(begin_) + page * page_;
  }

 private:
  std::size_t count_;
  std::size_t page_;
  std::byte* begin_;
};

TEST(ProbedObjects, ReadValuesOfReadablePages) {
  const Pages pages(4);
  PageCache cache;
  ProbedObjects reader(cache);
  const std::uint32_t written = 0x01020304;
  std::memcpy(pages.at(2) + 5, &written, sizeof written);
  std::uint32_t value = 0;
  EXPECT_TRUE(reader.read_value(pages.address(2) + 5, value));
  EXPECT_EQ(value, written);
  EXPECT_FALSE(reader.read_value(pages.address(1), value));
  EXPECT_TRUE(reader.read_value(pages.address(1) - 4, value));
  EXPECT_FALSE(reader.read_value(pages.address(1) - 3, value));
}

TEST(ProbedObjects, RefuseAddressesThatAreNotOfUserSpace) {
  PageCache cache;
  ProbedObjects reader(cache);
  std::uint64_t value = 0;
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{4095}, std::uint64_t{1} << unwind::kUserAddressBits,
        ~std::uint64_t{0}, ~std::uint64_t{0} - 6}) {
    EXPECT_FALSE(reader.read_value(address, value));
  }
  EXPECT_EQ(cache.questions(), 0u);
}

TEST(ProbedObjects, KeepErrno) {
  const Pages pages(2);
  PageCache cache;
  ProbedObjects reader(cache);
  std::uint64_t value = 0;
  errno = 77;
  reader.read_value(pages.address(1), value);
  EXPECT_EQ(errno, 77);
}

TEST(PageCache, AsksAboutAPageOnce) {
  const Pages pages(130, kObjectPageBytes);
  PageCache cache;
  for (int round = 0; round < 3; ++round) {
    // Two pages of each of the 32 sets.
    for (std::size_t i = 0; i < 128; i += 2) EXPECT_TRUE(cache.are_readable(pages.address(i), 1));
  }
  EXPECT_LE(cache.questions(), 64u + 2 * 64u);
  cache.clear();
  EXPECT_EQ(cache.questions(), 0u);
  EXPECT_TRUE(cache.are_readable(pages.address(0), 1));
  EXPECT_TRUE(cache.are_readable(pages.address(64), 1));
  EXPECT_TRUE(cache.are_readable(pages.address(0), 1));
  EXPECT_EQ(cache.questions(), 2u);
}

TEST(PageCache, AsksALimitedNumberOfQuestions) {
  const Pages pages(2);
  PageCache cache;
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(cache.are_readable(pages.address(1), 1));
  EXPECT_EQ(cache.questions(), PageCache::kMaxQuestions);
  EXPECT_TRUE(cache.is_exhausted());
  EXPECT_FALSE(cache.are_readable(pages.address(0), 1));
}

struct Source {
  std::vector<std::byte> bytes;
  std::uint64_t reads = 0;
  static constexpr std::uint64_t kBegin = 0x10000;
  unwind::ImageReader reader() {
    return {[](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
              auto& self = *static_cast<Source*>(state);
              ++self.reads;
              if (address < kBegin || address + out.size() > kBegin + self.bytes.size())
                return false;
              std::memcpy(out.data(), self.bytes.data() + (address - kBegin), out.size());
              return true;
            },
            this};
  }
};

TEST(ObjectPieces, ReadAcrossPieces) {
  Source source;
  for (unsigned i = 0; i < 4096; ++i) source.bytes.push_back(static_cast<std::byte>(i / 16));
  ObjectPieces reader(source.reader());
  std::array<std::byte, 1500> out{};
  ASSERT_TRUE(reader.read(Source::kBegin + 500, out));
  for (unsigned i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], source.bytes[500 + i]);
  }
  EXPECT_FALSE(reader.read(Source::kBegin + 3000, out));
}

TEST(ObjectPieces, ReadAPieceOnceUntilTheyForget) {
  Source source;
  source.bytes.resize(4096);
  ObjectPieces reader(source.reader());
  std::uint32_t value = 1;
  EXPECT_TRUE(reader.read_value(Source::kBegin + 16, value));
  EXPECT_TRUE(reader.read_value(Source::kBegin + 300, value));
  EXPECT_EQ(source.reads, 1u);
  EXPECT_EQ(value, 0u);
  source.bytes[300] = std::byte{5};
  EXPECT_TRUE(reader.read_value(Source::kBegin + 300, value));
  EXPECT_EQ(value, 0u);
  reader.forget();
  EXPECT_TRUE(reader.read_value(Source::kBegin + 300, value));
  EXPECT_EQ(value, 5u);
}

}  // namespace
}  // namespace swipr::runtimes
