#include "cli/serve/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace swipr::serve {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A server with two pages, in a thread of its own until the test ends.
class PageServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = PageServer::create();
    ASSERT_TRUE(server.has_value());
    server_.emplace(*std::move(server));
    server_->add("", "text/html", [] { return std::string("<h1>hello</h1>"); });
    server_->add("large", "text/plain", [this] {
      ++made_;
      return std::string(kLargeBytes, 'x');
    });
    server_->add("broken", "text/plain",
                 []() -> host::Result<std::string> { return host::Error("no disk"); });
    const std::string url = server_->url();
    const std::size_t slash = url.find('/', std::string_view("http://").size());
    host_ = url.substr(7, slash - 7);
    path_ = url.substr(slash);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run(stop_.value()).has_value()); });
  }

  void TearDown() override {
    ::eventfd_write(stop_.value(), 1);
    thread_.join();
  }

  host::UniqueFd connect() const {
    host::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(host_.substr(host_.find(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.value(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  // The whole answer.
  std::string ask(const std::string& request) const {
    const host::UniqueFd fd = connect();
    EXPECT_EQ(::send(fd.value(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    std::array<char, 65536> buffer{};
    for (ssize_t count = 1; count > 0;) {
      count = ::recv(fd.value(), buffer.data(), buffer.size(), 0);
      if (count > 0) answer.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return answer;
  }

  std::string get(const std::string& path, const std::string& host = "") const {
    return ask(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path, host.empty() ? host_ : host));
  }

  static constexpr std::size_t kLargeBytes = 5'000'000;
  host::UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::optional<PageServer> server_;
  std::thread thread_;
  std::string host_;
  std::string path_;
  int made_ = 0;
};

TEST_F(PageServerTest, ServesItsPages) {
  const std::string answer = get(path_ + "?from=here");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/html\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'self'"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n<h1>hello</h1>"));
}

TEST_F(PageServerTest, MakesALargePageOnce) {
  for (int time = 0; time < 2; ++time) {
    const std::string answer = get(path_ + "large");
    EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, kLargeBytes);
  }
  EXPECT_EQ(made_, 1);
}

TEST_F(PageServerTest, AnswersOthersWhileOneIsSilent) {
  const host::UniqueFd silent = connect();
  EXPECT_THAT(get(path_), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(PageServerTest, TellsNothingWithoutTheToken) {
  for (const std::string path : {"/", "/flame", "/0123456789abcdef0123456789abcdef/"}) {
    const std::string answer = get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, Not(HasSubstr("hello")));
    EXPECT_THAT(answer, Not(HasSubstr(path_)));
  }
}

TEST_F(PageServerTest, RefusesOtherHostNames) {
  EXPECT_THAT(get(path_, "evil.example"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("GET " + path_ + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(get(path_, "localhost" + host_.substr(host_.find(':'))), StartsWith("HTTP/1.1 200 "));
}

TEST_F(PageServerTest, SaysWhatWentWrong) {
  EXPECT_THAT(get(path_ + "broken"), HasSubstr("no disk"));
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\n\r\n", path_, host_)),
              StartsWith("HTTP/1.1 405 "));
}

TEST_F(PageServerTest, RefusesScriptsOfOtherPages) {
  const auto ask_from = [this](const std::string& origin) {
    return ask(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nOrigin: {}\r\n\r\n", path_, host_, origin));
  };
  EXPECT_THAT(ask_from("http://" + host_), StartsWith("HTTP/1.1 200 "));
  for (const std::string origin : {"http://evil.example", "null", "http://127.0.0.1:1"}) {
    EXPECT_THAT(ask_from(origin), StartsWith("HTTP/1.1 403 ")) << origin;
  }
}

TEST_F(PageServerTest, SendsTheHeadAlone) {
  EXPECT_TRUE(
      ask(fmt::format("HEAD {} HTTP/1.1\r\nHost: {}\r\n\r\n", path_, host_)).ends_with("\r\n\r\n"));
}

// A server that is driven by the test, with one stream whose feeds number their events.
class EventStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = PageServer::create();
    ASSERT_TRUE(server.has_value());
    server_.emplace(*std::move(server));
    server_->add_stream("events", [this]() -> PageServer::Feed {
      return [this, sent = 0]() mutable -> std::string {
        if (sent == news_) return {};
        sent = news_;
        ++made_;
        return std::to_string(news_) + std::string(event_bytes_, 'x');
      };
    });
    const std::string url = server_->url();
    const std::size_t slash = url.find('/', std::string_view("http://").size());
    host_ = url.substr(7, slash - 7);
    path_ = url.substr(slash) + "events";
  }

  host::UniqueFd connect() {
    host::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(host_.substr(host_.find(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.value(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path_, host_);
    EXPECT_EQ(::send(fd.value(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return fd;
  }

  // Serves until nothing happens any more.
  void settle() {
    for (int wait = 0; wait < 20; ++wait) {
      EXPECT_TRUE(server_->serve({}, std::chrono::milliseconds(1)).has_value());
    }
  }

  // Serves and reads until the text has come.
  std::string read_until(const host::UniqueFd& fd, const std::string& wanted) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (int turn = 0; turn < 10'000 && text.find(wanted) == text.npos; ++turn) {
      EXPECT_TRUE(server_->serve({}, std::chrono::milliseconds(1)).has_value());
      const ssize_t count = ::recv(fd.value(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  std::optional<PageServer> server_;
  std::string host_;
  std::string path_;
  int news_ = 0;
  int made_ = 0;
  std::size_t event_bytes_ = 0;
};

TEST_F(EventStreamTest, SendsEventsAsTheyCome) {
  const host::UniqueFd browser = connect();
  EXPECT_THAT(read_until(browser, "\r\n\r\n"), HasSubstr("Content-Type: text/event-stream"));
  for (int event = 1; event <= 3; ++event) {
    news_ = event;
    server_->push();
    EXPECT_EQ(read_until(browser, "\n\n"), fmt::format("data: {}\n\n", event));
  }
  settle();
  EXPECT_TRUE(server_->has_sent_all());
}

TEST_F(EventStreamTest, TellsASlowBrowserOnlyTheNewest) {
  event_bytes_ = 20'000'000;  // more than sockets hold
  news_ = 1;
  const host::UniqueFd slow = connect();
  settle();
  EXPECT_EQ(made_, 1);
  EXPECT_FALSE(server_->has_sent_all());
  for (; news_ < 100; ++news_) {
    server_->push();
    settle();
  }
  EXPECT_EQ(made_, 1);
  event_bytes_ = 0;
  EXPECT_THAT(read_until(slow, "data: 100\n\n"), HasSubstr("data: 1x"));
  EXPECT_EQ(made_, 2);
}

TEST_F(EventStreamTest, ForgetsBrowsersThatHaveGone) {
  news_ = 1;
  {
    const host::UniqueFd browser = connect();
    settle();
  }
  settle();
  for (int index = 0; index < 40; ++index) {
    host::UniqueFd browser = connect();
    EXPECT_THAT(read_until(browser, "\n\n"), HasSubstr("data: 1")) << index;
  }
}

TEST_F(EventStreamTest, HasABoundForBrowsers) {
  std::vector<host::UniqueFd> browsers;
  for (int index = 0; index < 16; ++index) browsers.push_back(connect());
  settle();
  const host::UniqueFd one_more = connect();
  EXPECT_THAT(read_until(one_more, "\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
}

}  // namespace
}  // namespace swipr::serve
