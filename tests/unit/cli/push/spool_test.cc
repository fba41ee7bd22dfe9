#include "cli/push/spool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "cli/push/pusher.h"

namespace swipr::push {
namespace {

using namespace std::chrono_literals;

class SpoolTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "spool-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Spool open(std::uint64_t bytes = 1 << 20) {
    auto spool = Spool::open(folder_ + "/of/a/store", bytes);
    EXPECT_TRUE(spool);
    return *spool;
  }
  static Request request(const std::string& body) { return {"/push", {{"X-Name", "value"}}, body}; }

  std::string folder_;
};

TEST_F(SpoolTest, KeepsRequestsInOrderOfTime) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(20s, request("second")));
  ASSERT_TRUE(spool.add(10s, request("first\nline")));
  const auto entries = open().waiting();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].begin, 10s);
  const auto claimed = spool.claim(entries[0].name);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->body, "first\nline");
  EXPECT_EQ(claimed->path, "/push");
  EXPECT_EQ(claimed->headers, request("").headers);
}

TEST_F(SpoolTest, AClaimedRequestIsNobodyElses) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(1s, request("x")));
  const std::string name = spool.waiting().at(0).name;
  ASSERT_TRUE(spool.claim(name));
  EXPECT_TRUE(spool.waiting().empty());
  EXPECT_FALSE(spool.claim(name));
  spool.release(name);
  EXPECT_EQ(spool.waiting().size(), 1u);
  ASSERT_TRUE(spool.claim(name));
  spool.remove(name);
  spool.release(name);
  EXPECT_TRUE(spool.waiting().empty());
}

TEST_F(SpoolTest, DropsTheOldestWhenItIsFull) {
  Spool spool = open(1000);
  const std::string body(300, 'x');
  for (int second = 1; second <= 5; ++second) {
    ASSERT_TRUE(spool.add(std::chrono::seconds(second), request(body)));
  }
  EXPECT_EQ(spool.dropped() + spool.waiting().size(), 5u);
  EXPECT_LE(spool.bytes(), 1000u);
  EXPECT_EQ(spool.waiting().back().begin, 5s);
  const std::size_t dropped = spool.dropped();
  EXPECT_FALSE(spool.add(6s, request(std::string(2000, 'x'))));
  EXPECT_EQ(spool.dropped(), dropped + 1);
}

TEST_F(SpoolTest, IsNeverLargerThanAllowedWhileRequestsAreBeingSent) {
  Spool spool = open(1000);
  const std::string body(300, 'x');
  for (int second = 1; second <= 2; ++second) {
    ASSERT_TRUE(spool.add(std::chrono::seconds(second), request(body)));
    ASSERT_TRUE(spool.claim(spool.waiting().at(0).name));
  }
  EXPECT_FALSE(spool.add(3s, request(body)));
  EXPECT_EQ(spool.dropped(), 1u);
  EXPECT_TRUE(spool.waiting().empty());
  EXPECT_LE(spool.bytes(), 1000u);
  EXPECT_GT(spool.bytes(), 600u);
}

TEST_F(SpoolTest, DoesNotSendAgainWhatMayBeStored) {
  Spool spool = open();
  ASSERT_TRUE(spool.add(1s, request("x")));
  ASSERT_TRUE(spool.claim(spool.waiting().at(0).name));
  EXPECT_EQ(open().remove_interrupted(), 1u);
  EXPECT_EQ(open().remove_interrupted(), 0u);
}

TEST_F(SpoolTest, RefusesAFolderOfOthers) {
  const std::string folder = folder_ + "/shared";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  EXPECT_FALSE(Spool::open(folder, 1000));
}

TEST(PushEvents, AreLines) {
  PushEvent event{PushEvent::Kind::kRefused, 12, "HTTP status 400:\nx"};
  const std::string line = format_push_event(event);
  EXPECT_EQ(line, "refused 12 HTTP status 400: x\n");
  const auto parsed = parse_push_event(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->kind, PushEvent::Kind::kRefused);
  EXPECT_EQ(parsed->bytes, 12u);
  EXPECT_EQ(parsed->text, "HTTP status 400: x");
  EXPECT_FALSE(parse_push_event(""));
  EXPECT_FALSE(parse_push_event("stored"));
  EXPECT_FALSE(parse_push_event("sent 1 x"));
}

}  // namespace
}  // namespace swipr::push
