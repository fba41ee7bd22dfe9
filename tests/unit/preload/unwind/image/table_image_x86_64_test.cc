#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "preload/unwind/base/code_hash.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/image/table_image.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

using Bytes = std::vector<std::byte>;

class TableImageTest : public testing::Test {
 protected:
  TableImageTest() {
    CfiImage image;
    const std::size_t cie = image.add_cie();
    image.add_fde(cie, CfiImage::kText, 64, {0x0e, 16, 0x86, 2});
    image.add_fde(cie, CfiImage::kText + 64, 64, {0x0c, 6, 16, 0x86, 2});
    // A CFA and a location that are expressions.
    image.add_fde(cie, CfiImage::kText + 128, 64, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
    built_ = image.build();
    EXPECT_EQ(built_.status, BuildStatus::kOk);
    key_.build_id_bytes = 20;
    key_.build_id[0] = std::byte{42};
    key_.text_end = 1;
    const TableImage whole = image_of(*built_.table, key_);
    const auto header = std::as_bytes(std::span(&whole.header, 1));
    bytes_.assign(header.begin(), header.end());
    for (const auto part : whole.parts) bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  ~TableImageTest() override {
    destroy_table(built_.table);
    for (const UnwindTable* table : opened_) destroy_table(table);
  }

  const UnwindTable* open(const Bytes& bytes, const TableKey& key) {
    const std::size_t mapped = 4096 * (1 + (kTableImageAt + bytes.size()) / 4096);
    void* const memory =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(memory) + kTableImageAt);
    const UnwindTable* const table = open_table_image({memory, mapped}, bytes.size(), key);
    if (table == nullptr) {
      ::munmap(memory, mapped);
    } else {
      opened_.push_back(table);
    }
    return table;
  }

  // The bytes with a change and a matching checksum, as a malicious writer would make them.
  template <typename T>
  Bytes changed(std::size_t part, std::size_t offset, T value) {
    const TableImage whole = image_of(*built_.table, key_);
    std::array<Bytes, kTablePartCount> parts;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      parts[at].assign(whole.parts[at].begin(), whole.parts[at].end());
    }
    EXPECT_LE(offset + sizeof value, parts[part].size());
    std::memcpy(parts[part].data() + offset, &value, sizeof value);
    TableHeader header = whole.header;
    header.checksum = 0;
    for (const Bytes& each : parts) header.checksum = hash_bytes(each, header.checksum);
    const auto head = std::as_bytes(std::span(&header, 1));
    Bytes result(head.begin(), head.end());
    for (const Bytes& each : parts) result.insert(result.end(), each.begin(), each.end());
    return result;
  }

  enum Part : std::size_t { kPages, kRows, kFunctions, kRules, kLocations, kRowRules, kPool };

  BuildResult built_;
  TableKey key_;
  Bytes bytes_;
  std::vector<const UnwindTable*> opened_;
};

TEST_F(TableImageTest, SaysOfEachAddressWhatTheTableSays) {
  const UnwindTable* const copy = open(bytes_, key_);
  ASSERT_NE(copy, nullptr);
  for (std::uint64_t at = CfiImage::kText - 8; at < CfiImage::kText + 256; ++at) {
    const Rule* const here = built_.table->find(at);
    const Rule* const there = copy->find(at);
    ASSERT_EQ(here == nullptr, there == nullptr) << at;
    if (here != nullptr) {
      EXPECT_EQ(*here, *there);
    }
    EXPECT_EQ(built_.table->function_start(at), copy->function_start(at));
  }
  const auto pool = copy->expression(0, copy->pool_bytes);
  EXPECT_TRUE(std::equal(pool.begin(), pool.end(), built_.table->pool));
  EXPECT_GT(copy->location_count, 0u);
}

TEST_F(TableImageTest, IsOfOneImageOnly) {
  TableKey other = key_;
  other.build_id[1] = std::byte{1};
  EXPECT_EQ(open(bytes_, other), nullptr);
  other = key_;
  other.text_end = 2;
  EXPECT_EQ(open(bytes_, other), nullptr);
}

TEST_F(TableImageTest, RefusesDamage) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_EQ(open(Bytes(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)), key_),
              nullptr);
  }
  Bytes longer = bytes_;
  longer.push_back({});
  EXPECT_EQ(open(longer, key_), nullptr);
  for (std::size_t at = sizeof(TableHeader); at < bytes_.size(); ++at) {
    Bytes flipped = bytes_;
    flipped[at] ^= std::byte{0x10};
    EXPECT_EQ(open(flipped, key_), nullptr) << at;
  }
}

TEST_F(TableImageTest, RefusesCountsThatDoNotFit) {
  for (const std::size_t field :
       {offsetof(TableHeader, page_shift), offsetof(TableHeader, row_count),
        offsetof(TableHeader, rule_count), offsetof(TableHeader, function_count),
        offsetof(TableHeader, location_count), offsetof(TableHeader, pool_bytes)}) {
    for (const std::uint32_t value : {0u, 1000u, 0x7fffffffu, ~0u}) {
      Bytes wrong = bytes_;
      std::memcpy(wrong.data() + field, &value, sizeof value);
      EXPECT_EQ(open(wrong, key_), nullptr) << field << ' ' << value;
    }
  }
  Bytes wrong = bytes_;
  const std::uint64_t covered = ~std::uint64_t{0};
  std::memcpy(wrong.data() + offsetof(TableHeader, covered_bytes), &covered, sizeof covered);
  EXPECT_EQ(open(wrong, key_), nullptr);
}

// Each of these, unchecked, would be a read outside of the table in a program's signal handler.
TEST_F(TableImageTest, RefusesIndicesThatLeadOutside) {
  const UnwindTable& table = *built_.table;
  EXPECT_NE(open(changed(kRules, 0, table.rules[0]), key_), nullptr);  // no change at all
  EXPECT_EQ(open(changed(kPages, 0, table.row_count), key_), nullptr);
  EXPECT_EQ(open(changed(kPages, 4 * (table.page_count() - 1), table.row_count), key_), nullptr);
  EXPECT_EQ(open(changed(kRowRules, 0, static_cast<std::uint16_t>(table.rule_count)), key_),
            nullptr);
  for (std::uint32_t at = 0; at < table.rule_count; ++at) {
    Rule rule = table.rules[at];
    if (rule.flags == 0) {
      rule.cfa_register = 200;
      EXPECT_EQ(open(changed(kRules, at * sizeof rule, rule), key_), nullptr);
    } else if ((rule.flags & kRuleExtended) != 0) {
      rule.first_location = table.location_count;
      EXPECT_EQ(open(changed(kRules, at * sizeof rule, rule), key_), nullptr);
      rule = table.rules[at];
      rule.location_count = 1;
      EXPECT_EQ(open(changed(kRules, at * sizeof rule, rule), key_), nullptr);
    }
  }
  for (std::uint32_t at = 0; at < table.location_count; ++at) {
    Location location = table.locations[at];
    location.reg = Registers::kCount;
    EXPECT_EQ(open(changed(kLocations, at * sizeof location, location), key_), nullptr);
    location = table.locations[at];
    if (location.kind != LocationKind::kValExpression) continue;
    location.value = static_cast<std::int32_t>(table.pool_bytes);
    EXPECT_EQ(open(changed(kLocations, at * sizeof location, location), key_), nullptr);
    location.value = -1;
    EXPECT_EQ(open(changed(kLocations, at * sizeof location, location), key_), nullptr);
    location.value = 0;
    location.kind = LocationKind::kOffset;  // of a CFA that is an expression
    EXPECT_EQ(open(changed(kLocations, at * sizeof location, location), key_), nullptr);
  }
}

}  // namespace
}  // namespace swipr::unwind
