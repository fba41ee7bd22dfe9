// Which images hold a PHP that can be read.
#include "preload/runtimes/php/php_layout.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tests/unit/preload/agent/modules/fake_image.h"

namespace swipr::runtimes {
namespace {

// An image with these symbols and modules, of which the last part of the constants is the text.
class FakePhp : public agent::FakeImage {
 public:
  FakePhp(std::initializer_list<const char*> symbols, std::string_view text,
          const void* modules = nullptr)
      : constants_(5000) {
    for (const char* const name : symbols) add_symbol(name, &globals_);
    if (modules != nullptr) add_symbol("module_registry", modules);
    finish();
    elf_.e_phentsize = sizeof(Elf64_Phdr);
    elf_.e_phnum = 2;
    elf_.e_phoff = address_of(&segments_) - address_of(&elf_);
    segments_[0].p_type = PT_NOTE;
    segments_[1].p_type = PT_LOAD;
    segments_[1].p_flags = PF_R;
    segments_[1].p_vaddr = address_of(constants_.data());
    segments_[1].p_filesz = constants_.size();
    std::memcpy(&constants_[4090], text.data(), text.size());
  }
  PhpDetection detect() const {
    return detect_php(address_of(&elf_), dynamic(), 0, {&read, nullptr});
  }
  std::uint64_t globals() const { return address_of(&globals_); }

 private:
  static bool read(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
    if (address < 4096) return false;
    std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
    return true;
  }

  std::uint64_t globals_ = 0;
  Elf64_Ehdr elf_{};
  Elf64_Phdr segments_[2] = {};
  std::vector<char> constants_;
};

constexpr std::initializer_list<const char*> kPhpSymbols = {"execute_ex", "executor_globals"};

TEST(PhpImages, OfKnownVersionsAreFound) {
  const FakePhp php(kPhpSymbols, "API20220829,NTS");
  const PhpDetection found = php.detect();
  ASSERT_EQ(found.state, DetectionState::kFound) << found.reason;
  EXPECT_EQ(found.runtime.layout.major, 8);
  EXPECT_EQ(found.runtime.layout.minor, 2);
  EXPECT_EQ(found.runtime.current_frame, php.globals() + 488);
}

// Found without a search: the constants do not have the text.
TEST(PhpImages, HaveTheirVersionInTheTableOfModules) {
  const char text[32] = "API20230831,NTS";
  const char* module[21] = {};
  const std::uint16_t size = sizeof module;
  std::memcpy(module, &size, sizeof size);
  module[20] = text;
  const void* const bucket = module;
  const void* const table[7] = {nullptr, nullptr, &bucket};
  const FakePhp php(kPhpSymbols, "", table);
  const PhpDetection found = php.detect();
  ASSERT_EQ(found.state, DetectionState::kFound) << found.reason;
  EXPECT_EQ(found.runtime.layout.minor, 3);
  module[20] = "API20230831;NTS of another kind, and longer";
  EXPECT_EQ(php.detect().state, DetectionState::kRefused);
}

TEST(PhpImages, OfOtherKindsAreRefusedWithTheReason) {
  struct Case {
    std::initializer_list<const char*> symbols;
    const char* text;
    const char* reason;
  };
  const Case cases[] = {
      {kPhpSymbols, "API20220829,TS", "thread-safe build (ZTS)"},
      {{"execute_ex", "executor_globals_id"}, "API20220829,TS", "thread-safe build (ZTS)"},
      {kPhpSymbols, "API20220829,NTS,debug", "debug build"},
      {kPhpSymbols, "API20250925,NTS", "unsupported version; 7.4 to 8.4 are"},
      {kPhpSymbols, "API20180731,NTS", "unsupported version; 7.4 to 8.4 are"},
      {kPhpSymbols, "API2022082x,NTS", "unsupported version; 7.4 to 8.4 are"},
      {kPhpSymbols, "", "unsupported version; 7.4 to 8.4 are"}};
  for (const Case& each : cases) {
    const PhpDetection found = FakePhp(each.symbols, each.text).detect();
    EXPECT_EQ(found.state, DetectionState::kRefused) << each.text;
    EXPECT_STREQ(found.reason, each.reason) << each.text;
  }
}

TEST(PhpImages, AreNoOthers) {
  EXPECT_EQ(FakePhp({"main"}, "API20220829,NTS").detect().state, DetectionState::kAbsent);
  EXPECT_EQ(FakePhp({"execute_ex"}, "API20220829,NTS").detect().state, DetectionState::kAbsent);
}

}  // namespace
}  // namespace swipr::runtimes
