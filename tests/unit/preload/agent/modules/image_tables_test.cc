#include "preload/agent/modules/image_tables.h"

#include <gtest/gtest.h>

namespace swipr::agent {
namespace {

unwind::BuildResult image_of(std::uint64_t code_bytes, std::uint64_t functions) {
  unwind::BuildResult image;
  image.text = {0x1000, 0x1000 + code_bytes};
  image.search.count = functions;
  return image;
}

TEST(ImageTables, PartsAreAllOfTheCode) {
  for (const std::uint64_t code_bytes : {1ull, 65536ull, 65537ull, 1400000ull, 50000000ull}) {
    const ImageTables tables(image_of(code_bytes, 1000));
    EXPECT_LE(tables.count(), 32u);
    EXPECT_EQ(tables.part(0).begin, 0u);
    for (unsigned at = 0; at < tables.count(); ++at) {
      const Range<std::uint64_t> part = tables.part(at);
      EXPECT_EQ(tables.index_of(part.begin), at);
      EXPECT_EQ(tables.index_of(part.end - 1), at);
      EXPECT_FALSE(tables.is_built(at));
    }
    EXPECT_EQ(tables.part(tables.count() - 1).end, UINT64_MAX);
  }
}

TEST(ImageTables, SmallImagesAndThoseWithoutSearchTableAreNotDivided) {
  EXPECT_FALSE(ImageTables(image_of(1 << 20, 0)).is_divided());
  EXPECT_FALSE(ImageTables(image_of(1 << 20, 5)).is_divided());
  EXPECT_TRUE(ImageTables(image_of(1 << 20, 1000)).is_divided());
  EXPECT_FALSE(ImageTables(image_of(0, 1000)).is_divided());
}

TEST(ImageTables, HasNoTableWhereTheOnlyPartHasNone) {
  ImageTables whole(image_of(4096, 0));
  EXPECT_FALSE(whole.has_no_table()) << "not built";
  whole.set(0, nullptr, false);
  EXPECT_TRUE(whole.has_no_table());
  ImageTables divided(image_of(1 << 20, 1000));
  divided.set(0, &unwind::kEmptyTable, true);
  EXPECT_FALSE(divided.has_no_table());
  EXPECT_FALSE(divided.has_memory());
  bool is_new = false;
  EXPECT_EQ(divided.release(0, is_new), nullptr) << "not one to free";
}

}  // namespace
}  // namespace swipr::agent
