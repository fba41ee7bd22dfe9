#include <gtest/gtest.h>

#include <memory>

#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

std::unique_ptr<TokenBuffer> buffer_of(std::uint32_t count) {
  auto buffer = std::make_unique<TokenBuffer>();
  buffer->clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    buffer->add({.code = i});
    buffer->last()->mark = i;
  }
  buffer->finish(true);
  return buffer;
}

TEST(TokenBuffer, KeepsAllTokensThatFit) {
  for (const std::uint32_t count : {0u, 1u, TokenBuffer::kKeptInner, TokenBuffer::kCapacity}) {
    const auto buffer = buffer_of(count);
    EXPECT_EQ(buffer->omitted(), 0u);
    ASSERT_EQ(buffer->tokens().size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(buffer->tokens()[i].code, i);
      EXPECT_EQ(buffer->tokens()[i].mark, i);
    }
  }
}

TEST(TokenBuffer, KeepsBothEndsOfMore) {
  for (const std::uint32_t count : {2049u, 2559u, 2560u, 2561u, 4096u}) {
    const auto buffer = buffer_of(count);
    EXPECT_EQ(buffer->omitted(), count - TokenBuffer::kCapacity);
    ASSERT_EQ(buffer->tokens().size(), TokenBuffer::kCapacity);
    EXPECT_EQ(buffer->tokens()[TokenBuffer::kKeptInner - 1].code, TokenBuffer::kKeptInner - 1);
    for (std::uint32_t i = 0; i < TokenBuffer::kKeptOuter; ++i) {
      EXPECT_EQ(buffer->tokens()[TokenBuffer::kKeptInner + i].mark,
                count - TokenBuffer::kKeptOuter + i);
    }
  }
}

TEST(TokenBuffer, RemovesTokensFromAMarkOn) {
  const auto buffer = buffer_of(10);
  buffer->remove_from(20);
  EXPECT_EQ(buffer->tokens().size(), 10u);
  buffer->remove_from(4);
  ASSERT_EQ(buffer->tokens().size(), 4u);
  EXPECT_EQ(buffer->tokens().back().mark, 3u);
  buffer->remove_from(0);
  EXPECT_TRUE(buffer->tokens().empty());
  const auto deep = buffer_of(TokenBuffer::kCapacity + 1);
  deep->remove_from(TokenBuffer::kCapacity + 1);  // which of them are left is unknown
  EXPECT_TRUE(deep->tokens().empty());
}

TEST(TokenBuffer, HasNoLastTokenAtFirst) {
  const auto buffer = std::make_unique<TokenBuffer>();
  buffer->clear();
  EXPECT_EQ(buffer->last(), nullptr);
}

}  // namespace
}  // namespace swipr::runtimes
