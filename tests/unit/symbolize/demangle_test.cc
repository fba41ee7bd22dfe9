#include <gtest/gtest.h>

#include "symbolize/symbolizer.h"

namespace swipr::symbolize {
namespace {

TEST(Demangle, ReadsCxxNames) {
  EXPECT_EQ(demangle("_Z3foov"), "foo()");
  EXPECT_EQ(demangle("_ZN4shop3buyEi"), "shop::buy(int)");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_16Secret4hideEi"),
            "(anonymous namespace)::Secret::hide(int)");
  EXPECT_EQ(demangle("_Z10mostly_hoti.cold"), "mostly_hot(int) [clone .cold]");
}

TEST(Demangle, LeavesOtherNamesAsTheyAre) {
  for (const char* name : {"", "main", "_start", "_Z", "_Znot a name", "__libc_start_main",
                           "Z3foov", "operator new", "i", "f"}) {
    EXPECT_EQ(demangle(name), name);
  }
}

TEST(Demangle, DropsTheHashOfRustsLegacyNames) {
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
            "core::fmt::Formatter::pad");
}

TEST(Demangle, UnescapesRustsLegacyNames) {
  EXPECT_EQ(demangle("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
                     "4drop17h0123456789abcdefE"),
            "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(demangle("_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17hfedcba9876543210E"),
            "main::main::{{closure}}");
}

TEST(Demangle, KeepsCxxNamesThatOnlyLookLikeRusts) {
  EXPECT_EQ(demangle("_ZN1a17hello_there_worldE"), "a::hello_there_world");
}

// Each pair names the one before twice: 235 characters would become 277 MB.
TEST(Demangle, LeavesNamesThatGrowWithoutBound) {
  std::string bomb = "_Z1fSt4pairIiiE";
  for (const char digit : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    const std::string reference = std::string("S") + digit + "_";
    bomb += "S_I" + reference + reference + "E";
  }
  EXPECT_EQ(demangle(bomb), bomb);
}

TEST(Demangle, LeavesVeryLongAndVeryDeepNames) {
  const std::string long_name = "_Z" + std::to_string(70000) + std::string(70000, 'x') + "v";
  EXPECT_EQ(demangle(long_name), long_name);
  const std::string deep = "_Z1f" + std::string(60000, 'P') + "i";
  EXPECT_EQ(demangle(deep), deep);
}

}  // namespace
}  // namespace swipr::symbolize
