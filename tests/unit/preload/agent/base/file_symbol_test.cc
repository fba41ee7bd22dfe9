#include "preload/agent/base/file_symbol.h"

#include <gtest/gtest.h>

extern "C" {
extern const char __executable_start;
extern int swipr_test_hidden_object;
}
// Not in C++: sanitizers make objects larger.
__asm__(R"(
  .pushsection .data
  .hidden swipr_test_hidden_object
  .globl swipr_test_hidden_object
  .type swipr_test_hidden_object, @object
  .size swipr_test_hidden_object, 4
  .balign 4
swipr_test_hidden_object:
  .long 7
  .popsection
)");

namespace swipr::agent {
namespace {

TEST(FileSymbol, FindsAnObjectThatIsNotExported) {
  const std::uint64_t value =
      find_object_in_file("/proc/self/exe", "swipr_test_hidden_object", sizeof(int));
  ASSERT_NE(value, 0u);
  const auto base = reinterpret_cast<std::uint64_t>(&__executable_start);
  EXPECT_EQ(base + value, reinterpret_cast<std::uint64_t>(&swipr_test_hidden_object));
}

TEST(FileSymbol, SizeAndWholeNameHaveToMatch) {
  EXPECT_EQ(find_object_in_file("/proc/self/exe", "swipr_test_hidden_object", 8), 0u);
  EXPECT_EQ(find_object_in_file("/proc/self/exe", "swipr_test_hidden_objec", 4), 0u);
}

TEST(FileSymbol, OtherFilesHaveNone) {
  EXPECT_EQ(find_object_in_file("/nowhere", "name", 4), 0u);
  EXPECT_EQ(find_object_in_file("/proc/self/maps", "name", 4), 0u);
  EXPECT_EQ(find_object_in_file("/dev/null", "name", 4), 0u);
}

}  // namespace
}  // namespace swipr::agent
