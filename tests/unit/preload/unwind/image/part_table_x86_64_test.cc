// Tables of parts of an image, found by the search table of .eh_frame_hdr.
#include <gtest/gtest.h>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/unwind_table.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kText = CfiImage::kText;
constexpr std::uint64_t kBytes = 64;  // of each function
const Bytes kPush{0x41, 0x0e, 16, 0x86, 2};

// Adjacent functions; sections written by linkers are not in the order of the code.
class PartTableTest : public testing::Test {
 protected:
  PartTableTest() {
    const std::size_t cie = image_.add_cie();
    std::array<std::size_t, kCount> fdes{};
    for (const unsigned number : {2u, 0u, 3u, 1u}) {
      fdes[number] = image_.add_fde(cie, start(number), kBytes, kPush);
    }
    for (unsigned number = 0; number < kCount; ++number) {
      image_.add_search(start(number), fdes[number]);
    }
  }
  ~PartTableTest() override { destroy_table(table_); }

  static std::uint64_t start(unsigned number) { return kText + kBytes * number; }
  BuildStatus build(Range<std::uint64_t> part) {
    bytes_ = image_.finish();
    const ImageReader reader = CfiImage::reader_of(bytes_);
    destroy_table(table_);
    table_ = nullptr;
    return build_part(describe_image(CfiImage::kLoadBias, reader), part, reader, table_);
  }
  bool covers(unsigned number) const { return table_->find(start(number) + 8) != nullptr; }

  static constexpr unsigned kCount = 4;
  CfiImage image_;
  Bytes bytes_;
  const UnwindTable* table_ = nullptr;
};

TEST_F(PartTableTest, HasTheFunctionsOfItsPartAndTheOneThatReachesIntoIt) {
  ASSERT_EQ(build({start(1) + 8, start(3)}), BuildStatus::kOk);
  EXPECT_FALSE(covers(0));
  EXPECT_TRUE(covers(1));
  EXPECT_TRUE(covers(2));
  EXPECT_FALSE(covers(3));
  EXPECT_EQ(table_->function_count, 2u);
  ASSERT_EQ(build({start(2), start(2) + 16}), BuildStatus::kOk);
  EXPECT_TRUE(covers(2));
  EXPECT_EQ(table_->function_count, 1u);
}

TEST_F(PartTableTest, SaysWhatTheWholeTableSays) {
  ASSERT_EQ(build({kText, start(kCount)}), BuildStatus::kOk);
  const BuildResult whole = image_.build();
  for (std::uint64_t at = kText - 8; at < start(kCount) + 8; ++at) {
    const Rule* const expected = whole.table->find(at);
    const Rule* const actual = table_->find(at);
    ASSERT_EQ(expected == nullptr, actual == nullptr) << at;
    if (expected != nullptr) {
      EXPECT_EQ(*expected, *actual);
    }
  }
  destroy_table(whole.table);
}

TEST_F(PartTableTest, CodeBeforeAllFunctionsHasNoTable) {
  image_.search.erase(image_.search.begin(), image_.search.begin() + 2);
  EXPECT_EQ(build({kText, start(2)}), BuildStatus::kNoCfi);
  EXPECT_EQ(table_, nullptr);
}

TEST_F(PartTableTest, LeavesOutWhatTheSearchTableIsWrongAbout) {
  image_.search[1].fde = image_.search[0].fde;  // its function begins elsewhere
  image_.search[2].fde = 0;                     // a CIE
  image_.search[3].fde += 4;                    // within an entry
  ASSERT_EQ(build({kText, start(kCount)}), BuildStatus::kOk);
  EXPECT_EQ(table_->function_count, 1u);
  EXPECT_TRUE(covers(0));
  EXPECT_FALSE(covers(1));
  image_.search.erase(image_.search.begin());
  EXPECT_EQ(build({kText, start(kCount)}), BuildStatus::kNoCfi);
}

TEST_F(PartTableTest, RepeatedEntriesCostNoMoreThanTheSection) {
  image_.trailing_bytes = 1 << 20;
  image_.search.assign(200, image_.search[0]);
  ASSERT_EQ(build({kText, start(kCount)}), BuildStatus::kOk);
  EXPECT_TRUE(covers(0));
}

TEST_F(PartTableTest, DescribesASearchTableOfTheUsualFormOnly) {
  const auto count_with = [this](std::size_t offset, int value) {
    Bytes bytes = image_.finish();
    bytes.put(CfiImage::kEhFrameHeader + offset, static_cast<std::uint8_t>(value));
    return describe_image(CfiImage::kLoadBias, CfiImage::reader_of(bytes)).search.count;
  };
  EXPECT_EQ(count_with(0, 1), kCount);
  EXPECT_EQ(count_with(2, 0xff), 0u) << "no count";
  EXPECT_EQ(count_with(3, 0x1b), 0u) << "not relative to the header";
  EXPECT_EQ(count_with(8, kCount + 1), 0u) << "beyond its segment";
}

// Every byte of the table in turn gets a few other values: any result is accepted, but no fault.
TEST_F(PartTableTest, SurvivesEveryChangedByte) {
  const Bytes good = image_.finish();
  for (std::size_t at = CfiImage::kEhFrameHeader; at < good.size(); ++at) {
    if (at > CfiImage::kEhFrameHeader + 64 && at < CfiImage::kEhFrame) continue;  // nothing there
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes changed = good;
      changed.put(at, static_cast<std::uint8_t>(value));
      const ImageReader reader = CfiImage::reader_of(changed);
      const BuildResult image = describe_image(CfiImage::kLoadBias, reader);
      if (image.search.count == 0) continue;
      const UnwindTable* table = nullptr;
      const BuildStatus status = build_part(image, {start(1), start(3)}, reader, table);
      EXPECT_EQ(table != nullptr, status == BuildStatus::kOk);
      for (std::uint64_t pc = kText - 8; table != nullptr && pc < start(kCount); ++pc) {
        static_cast<void>(table->find(pc));
      }
      destroy_table(table);
    }
  }
}

}  // namespace
}  // namespace swipr::unwind
