#include "symbolize/files/package_index.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

namespace swipr::symbolize::test {
namespace {

constexpr std::uint64_t kId = 0x1234'5678'0000'0003;
constexpr std::uint64_t kSameSlot = 0x0000'0000'0000'0003;

// Four slots; the unit kId is found at the second try, after another one of the same slot.
class PackageIndexTest : public testing::Test {
 protected:
  explicit PackageIndexTest(std::uint32_t version = 5, std::uint32_t third_column = 8) {
    numbers({version, 3, 2, 4});
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}}) ids(id);
    ids(kSameSlot);
    // Its step is odd: (kId >> 32 & 3) | 1 = 1, so the slot after 3 is 0.
    ids_at(0, kId);
    numbers({2, 0, 0, 1});
    numbers({1, 6, third_column});
    numbers({10, 20, 30, 11, 21, 31});
    numbers({1, 2, 3, 4, 5, 6});
  }

  void numbers(std::initializer_list<std::uint32_t> values) {
    for (const std::uint32_t value : values) add(&value, sizeof value);
  }
  void ids(std::uint64_t id) { add(&id, sizeof id); }
  void ids_at(std::size_t slot, std::uint64_t id) {
    std::memcpy(bytes_.data() + 16 + slot * sizeof id, &id, sizeof id);
  }
  void add(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  void set_number(std::size_t index, std::uint32_t value) {
    std::memcpy(bytes_.data() + index * sizeof value, &value, sizeof value);
  }

  std::vector<std::byte> bytes_;
};

TEST_F(PackageIndexTest, FindsTheSlicesOfAUnitBehindACollision) {
  const auto found = find_in_package(bytes_, kId);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->info.offset, 11u);
  EXPECT_EQ(found->info.size, 4u);
  EXPECT_EQ(found->str_offsets.offset, 21u);
  EXPECT_EQ(found->rnglists.offset, 31u);
  EXPECT_EQ(found->rnglists.size, 6u);
  EXPECT_EQ(found->abbrev.size, 0u);
  EXPECT_EQ(find_in_package(bytes_, kSameSlot)->info.offset, 10u);
}

TEST_F(PackageIndexTest, DoesNotFindAUnitThatIsNotThere) {
  EXPECT_FALSE(find_in_package(bytes_, 1));
  EXPECT_FALSE(find_in_package(bytes_, kId + 4));
}

TEST_F(PackageIndexTest, EndsTheSearchInAnIndexWithoutFreeSlots) {
  for (std::size_t slot = 0; slot < 4; ++slot) set_number(4 + 8 + slot, 1);
  EXPECT_FALSE(find_in_package(bytes_, 1));
}

// In GNU's version the section number of range lists means macros.
TEST_F(PackageIndexTest, KnowsNoRangeListsInVersion2) {
  set_number(0, 2);
  const auto found = find_in_package(bytes_, kId);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->info.offset, 11u);
  EXPECT_EQ(found->rnglists.size, 0u);
}

TEST_F(PackageIndexTest, RefusesWhatIsDamaged) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_FALSE(find_in_package(std::span(bytes_).first(size), kId)) << size;
  }
  const auto with = [&](std::size_t index, std::uint32_t value) {
    std::vector<std::byte> whole = bytes_;
    set_number(index, value);
    const auto found = find_in_package(bytes_, kId);
    bytes_ = whole;
    return found.has_value();
  };
  EXPECT_TRUE(with(0, 5));
  EXPECT_FALSE(with(0, 3)) << "version";
  EXPECT_FALSE(with(1, 0xFFFFFFFF)) << "columns";
  EXPECT_FALSE(with(2, 0xFFFFFFFF)) << "units";
  EXPECT_FALSE(with(3, 3)) << "slots that are no power of two";
  EXPECT_FALSE(with(3, 0x80000000)) << "slots";
  EXPECT_FALSE(with(4 + 8, 3)) << "a row behind the last";
}

}  // namespace
}  // namespace swipr::symbolize::test
