#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "preload/unwind/cfi/registered_cfi.h"
#include "preload/unwind/table/unwind_table.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kCode = 0x7f0000000000;
constexpr std::uint64_t kTables = 0x7f0040000000;
constexpr std::uint64_t kPage = 4096;

struct Destroy {
  void operator()(const UnwindTable* table) const { destroy_table(table); }
};

class Registered : public testing::Test {
 protected:
  // One function whose CFA is rsp + `cfa`; the table's addresses are absolute.
  static Bytes table_of(std::uint64_t start, std::uint64_t size, std::uint8_t cfa) {
    CfiImage image;
    const std::size_t cie = image.add_cie(CfiImage::initial(), {.augmentation_data = {0x00}});
    Bytes fde;
    const std::size_t id_at = image.eh_frame.size() + 4;
    fde.number(static_cast<std::uint32_t>(id_at - cie)).number(start).number(size);
    fde.append({0, 0x0e, cfa});
    image.eh_frame.number(static_cast<std::uint32_t>(fde.size())).append(fde);
    return image.eh_frame.number(std::uint32_t{0});
  }
  void put(std::uint64_t address, const Bytes& bytes) {
    for (std::size_t at = 0; at < bytes.size(); ++at) memory_[address + at] = bytes.data[at];
  }
  // Whole pages are readable or not.
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const auto& memory = static_cast<const Registered*>(state)->memory_;
    for (std::size_t at = 0; at < out.size(); ++at) {
      const auto page = memory.lower_bound((address + at) & -kPage);
      if (page == memory.end() || page->first - ((address + at) & -kPage) >= kPage) return false;
      const auto found = memory.find(address + at);
      out[at] = found == memory.end() ? std::byte{0x55} : found->second;
    }
    return true;
  }
  bool add(std::uint64_t address) { return cfi_.add(address, {&read, this}); }
  std::unique_ptr<const UnwindTable, Destroy> build(Range<std::uint64_t> text) {
    const UnwindTable* table = nullptr;
    status_ = cfi_.build(text, table);
    return std::unique_ptr<const UnwindTable, Destroy>(table);
  }
  static int cfa_at(const UnwindTable& table, std::uint64_t address) {
    const Rule* const rule = table.find(address);
    return rule == nullptr ? -1 : rule->cfa_offset;
  }

  std::map<std::uint64_t, std::byte> memory_;
  RegisteredCfi cfi_;
  BuildStatus status_ = BuildStatus::kOk;
};

TEST_F(Registered, ManyTablesWhoseCodeInterleavesBecomeOne) {
  for (std::uint64_t at = 0; at < 100; ++at) {
    const std::uint64_t place = at * 7 % 100;  // not in the order of their code
    put(kTables + at * 256, table_of(kCode + place * 64, 32, static_cast<std::uint8_t>(8 + place)));
    ASSERT_TRUE(add(kTables + at * 256));
  }
  const auto table = build({kCode, kCode + 0x10000});
  ASSERT_NE(table, nullptr);
  for (std::uint64_t place = 0; place < 100; ++place) {
    EXPECT_EQ(cfa_at(*table, kCode + place * 64), 8 + static_cast<int>(place));
    EXPECT_EQ(cfa_at(*table, kCode + place * 64 + 31), 8 + static_cast<int>(place));
    EXPECT_EQ(cfa_at(*table, kCode + place * 64 + 32), -1);
  }
}

TEST_F(Registered, ATableMayEndWithItsPageAndSpanPages) {
  const Bytes bytes = table_of(kCode, 32, 24);
  for (const std::uint64_t at : {kTables + kPage - bytes.size(), kTables + 5 * kPage - 20}) {
    put(at, bytes);
    EXPECT_TRUE(add(at)) << at - kTables;
  }
  const auto table = build({kCode, kCode + kPage});
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(cfa_at(*table, kCode), 24);
}

TEST_F(Registered, WhatCannotBeReadIsLeftOutAndTheRestStays) {
  put(kTables, table_of(kCode, 32, 24));
  Bytes endless = table_of(kCode + 64, 32, 40);
  endless.data.resize(endless.size() - 4);
  put(kTables + 4 * kPage - endless.size(), endless);
  ASSERT_TRUE(add(kTables));
  EXPECT_FALSE(add(kTables + 4 * kPage - endless.size()));  // no end in its pages
  EXPECT_FALSE(add(kTables + 100 * kPage));                 // not mapped
  const auto table = build({kCode, kCode + kPage});
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(cfa_at(*table, kCode), 24);
  EXPECT_EQ(cfa_at(*table, kCode + 64), -1);
}

TEST_F(Registered, AnEntryOfHostileLengthEndsNothingButItsTable) {
  for (const std::uint32_t length : {0xfffffffeu, 0xffffffffu, 0x7fffffffu}) {
    Bytes bytes;
    bytes.number(length).number(~std::uint64_t{0}).number(std::uint64_t{0});
    put(kTables + kPage, bytes);
    EXPECT_FALSE(add(kTables + kPage));
  }
}

TEST_F(Registered, AnEmptyTableAndNoneAreNoTable) {
  EXPECT_EQ(build({kCode, kCode + kPage}), nullptr);
  EXPECT_EQ(status_, BuildStatus::kNoCfi);
  put(kTables, Bytes{0, 0, 0, 0});
  EXPECT_TRUE(add(kTables));
  EXPECT_EQ(build({kCode, kCode + kPage}), nullptr);
}

TEST_F(Registered, CodeOutsideTheTextIsLeftOut) {
  put(kTables, table_of(kCode + kPage, 32, 24));
  ASSERT_TRUE(add(kTables));
  EXPECT_EQ(build({kCode, kCode + kPage}), nullptr);
  EXPECT_NE(build({kCode, kCode + 2 * kPage}), nullptr);
}

}  // namespace
}  // namespace swipr::unwind
