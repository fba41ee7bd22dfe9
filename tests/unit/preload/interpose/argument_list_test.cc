#include "preload/interpose/argument_list.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace swipr::interpose {
namespace {

// What execle takes: a list that ends with a null pointer, and a pointer behind it.
struct Taken {
  std::size_t count = 0;
  std::array<char*, 16> arguments{};
  const char* behind = nullptr;
};

Taken take(const char* first, ...) {
  Taken taken;
  va_list rest;
  va_start(rest, first);
  taken.count = count_list(first, &rest);
  if (taken.count <= taken.arguments.size()) copy_list(first, &rest, taken.arguments.data());
  taken.behind = va_arg(rest, const char*);
  va_end(rest);
  return taken;
}

// More arguments than registers, so that a part of the list is in memory. On aarch64 (scripts/test
// runs this test in qemu) a va_list that is passed by value stays at its beginning.
TEST(ArgumentList, WhatFollowsItIsRead) {
  const Taken few = take("a", "b", static_cast<char*>(nullptr), "environment");
  EXPECT_EQ(few.count, 3u);
  EXPECT_STREQ(few.arguments[1], "b");
  EXPECT_EQ(few.arguments[2], nullptr);
  EXPECT_STREQ(few.behind, "environment");

  const Taken many = take("0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
                          static_cast<char*>(nullptr), "environment");
  EXPECT_EQ(many.count, 11u);
  EXPECT_STREQ(many.arguments[9], "9");
  EXPECT_EQ(many.arguments[10], nullptr);
  EXPECT_STREQ(many.behind, "environment");
}

TEST(ArgumentList, MayBeEmpty) {
  const Taken taken = take(nullptr, "environment");
  EXPECT_EQ(taken.count, 1u);
  EXPECT_EQ(taken.arguments[0], nullptr);
  EXPECT_STREQ(taken.behind, "environment");
}

}  // namespace
}  // namespace swipr::interpose
