// Derived rules against the CFI of compilers, in libraries that have it: the instructions alone
// must tell nearly everything that the CFI says.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>

#include "preload/unwind/base/registers.h"
#include "preload/unwind/derived/derived_table.h"
#include "preload/unwind/table/unwind_table.h"
#include "tests/unit/preload/unwind/mapped_file.h"

namespace swipr::unwind {
namespace {

constexpr char kLibc[] = "/lib/x86_64-linux-gnu/libc.so.6";

struct Agreement {
  double all = 0;   // bytes of code with a plain rule by the stack pointer in the CFI
  double same = 0;  // CFA and saved registers
  double unknown = 0;
  double wrong_cfa = 0;
};

// Compilers do not say that a register has been popped: its value is still below the stack pointer.
bool is_same(std::int16_t derived, std::int16_t saved, const Rule& rule) {
  return derived == saved || (derived == Rule::kKept && -saved > rule.cfa_offset);
}

Agreement compare(const UnwindTable& derived, const UnwindTable& cfi, Range<std::uint64_t> text) {
  Agreement out;
  for (std::uint64_t at = text.begin; at < text.end; ++at) {
    const Rule* const known = cfi.find(at);
    if (known == nullptr || known->flags != 0 || known->cfa_register != kRsp) continue;
    const Rule* const rule = derived.find(at);
    ++out.all;
    if (rule == nullptr || rule->flags != 0 || rule->cfa_register != kRsp) {
      ++out.unknown;
    } else if (rule->cfa_offset != known->cfa_offset) {
      ++out.wrong_cfa;
    } else if (is_same(rule->saved_frame, known->saved_frame, *known) &&
               is_same(rule->saved_base, known->saved_base, *known)) {
      ++out.same;
    }
  }
  return out;
}

class DerivedTable : public testing::TestWithParam<const char*> {};

TEST_P(DerivedTable, AgreesWithTheCfi) {
  MappedFile file(GetParam());
  ASSERT_TRUE(file.is_open());
  const BuildResult built = build_table(file.elf_header(), file.reader());
  ASSERT_EQ(built.status, BuildStatus::kOk);
  const UnwindTable* derived = nullptr;
  ASSERT_EQ(derive_table(built, file.reader(), derived), BuildStatus::kOk);
  const Agreement found = compare(*derived, *built.table, built.text);
  EXPECT_GT(found.all, 50'000);
  EXPECT_GT(found.same, 0.98 * found.all);
  EXPECT_LT(found.wrong_cfa, 0.015 * found.all);
  EXPECT_LT(found.unknown, 0.001 * found.all);
  destroy_table(derived);
  destroy_table(built.table);
}

INSTANTIATE_TEST_SUITE_P(Libraries, DerivedTable,
                         testing::Values(kLibc, "/lib/x86_64-linux-gnu/libm.so.6",
                                         "/lib/x86_64-linux-gnu/libz.so.1"));

// Any bytes as code: no fault, and an end.
struct DamagedFile {
  ImageReader file;
  std::mt19937 random;
  std::uint64_t text_begin;

  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    auto& self = *static_cast<DamagedFile*>(state);
    if (!self.file.read(self.file.state, address, out)) return false;
    if (address != self.text_begin) return true;  // symbols
    for (std::size_t count = out.size() / 16; count > 0; --count) {
      out[self.random() % out.size()] = static_cast<std::byte>(self.random());
    }
    return true;
  }
};

TEST(DamagedCode, GivesSomeTable) {
  MappedFile file(kLibc);
  const BuildResult image = describe_image(file.elf_header(), file.reader());
  for (unsigned seed = 0; seed < 10; ++seed) {
    DamagedFile damaged{file.reader(), std::mt19937(seed), image.load_bias + image.text.begin};
    const UnwindTable* table = nullptr;
    ASSERT_EQ(derive_table(image, {&DamagedFile::read, &damaged}, table), BuildStatus::kOk);
    EXPECT_GT(table->row_count, 10'000u);
    destroy_table(table);
  }
}

TEST(DamagedCode, NeedsFunctions) {
  MappedFile file(kLibc);
  BuildResult image = describe_image(file.elf_header(), file.reader());
  image.dynamic = {};
  const UnwindTable* table = nullptr;
  EXPECT_EQ(derive_table(image, file.reader(), table), BuildStatus::kNoCfi);
}

}  // namespace
}  // namespace swipr::unwind
