#include "symbolize/text/demangle.h"

#include <gtest/gtest.h>

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

TEST(Demangle, ReadsRustsV0Names) {
  EXPECT_EQ(demangle("_RNvCskwGfYPst2Cb_3foo16example_function"), "foo::example_function");
  EXPECT_EQ(demangle("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate"),
            "<std::path::PathBuf>::new");
  EXPECT_EQ(demangle("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_"),
            "cc::spawn::{closure#0}::{closure#0}");
  EXPECT_EQ(demangle("_RNvC3foo3bar.llvm.9D1C9369"), "foo::bar");
}

TEST(Demangle, ReadsDNames) {
  EXPECT_EQ(demangle("_D3std5stdio7writelnFAyaZv"), "std.stdio.writeln(immutable(char)[])");
  EXPECT_EQ(demangle("_Dmain"), "D main");
}

// The key and the value of each array are the array before: back references in place of S_.
TEST(Demangle, LeavesNamesOfDThatGrowWithoutBound) {
  std::string bomb = "_D1fFHii";
  for (int level = 0; level < 20; ++level) bomb += "HQcQe";
  bomb += "Zv";
  EXPECT_EQ(demangle(bomb), bomb);
}

TEST(Demangle, KeepsCxxNamesThatOnlyLookLikeRusts) {
  EXPECT_EQ(demangle("_ZN1a17hello_there_worldE"), "a::hello_there_world");
}

// Each pair contains the previous one twice: 235 characters would become 277 MB.
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

TEST(Shorten, DropsWhatIsLong) {
  EXPECT_EQ(shorten("main"), "main");
  EXPECT_EQ(shorten("shop::buy(int)"), "shop::buy");
  EXPECT_EQ(shorten("std::map<int, std::vector<int> >::insert(int const&) const"),
            "std::map::insert");
  EXPECT_EQ(shorten("int std::accumulate<int*, int>(int*, int*, int)"), "std::accumulate");
  EXPECT_EQ(shorten("std::__cxx11::basic_string<char>::size[abi:cxx11]() const"),
            "std::basic_string::size");
  EXPECT_EQ(shorten("non-virtual thunk to A<int>::f(char)"), "non-virtual thunk to A::f");
}

TEST(Shorten, KeepsOperators) {
  EXPECT_EQ(shorten("bool operator< <int>(A<int> const&, int)"), "operator<");
  EXPECT_EQ(shorten("a::operator<<(std::ostream&, a::b const&)"), "a::operator<<");
  EXPECT_EQ(shorten("F<int>::operator()(int) const"), "F::operator()");
  EXPECT_EQ(shorten("P<int>::operator->()"), "P::operator->");
  EXPECT_EQ(shorten("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(shorten("A::operator bool() const"), "A::operator bool");
  EXPECT_EQ(shorten("my_operator<int>()"), "my_operator");
}

TEST(Shorten, KeepsWhatTellsNamelessThingsApart) {
  EXPECT_EQ(shorten("(anonymous namespace)::Secret<int>::hide(int)"),
            "(anonymous namespace)::Secret::hide");
  EXPECT_EQ(shorten("main::{lambda(int, A<int>)#2}::operator()(int) const"),
            "main::{lambda#2}::operator()");
  EXPECT_EQ(shorten("run(int) const::{lambda()#1}::operator()() const"),
            "run::{lambda#1}::operator()");
}

TEST(Shorten, KnowsRust) {
  EXPECT_EQ(shorten("<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
            "<alloc::vec::Vec as core::ops::Drop>::drop");
  EXPECT_EQ(shorten("core::iter::collect::<alloc::vec::Vec<u8>>"), "core::iter::collect");
  EXPECT_EQ(shorten("app::main::{closure#0}"), "app::main::{closure#0}");
}

TEST(Shorten, LeavesWhatItDoesNotUnderstand) {
  for (const char* name : {"", "a<b", "f(int", "{", "void (*f(int))(char)", "<", "<>"}) {
    EXPECT_EQ(shorten(name), name);
  }
  const std::string deep(5000, '<');
  EXPECT_EQ(shorten(deep), deep);
}

}  // namespace
}  // namespace swipr::symbolize
