#include "preload/agent/serve/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

namespace swipr::agent {
namespace {

using namespace std::chrono_literals;

constexpr Moment kBegin = 1000s;

// More than the buffers of the connection below hold.
void answer_at_length(Connection& connection) {
  connection.body().append(std::string(30000, 'x'));
  connection.answer(200, "text/plain");
}

// A connection whose clock the test sets, and its client.
class AgentConnection : public testing::Test {
 protected:
  AgentConnection() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = ends[0];
    const int least = 1;  // the kernel rounds it to about 4 KiB
    EXPECT_EQ(::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    connection_ = Connection::create(ends[1], nullptr, answer_at_length, kBegin);
  }
  ~AgentConnection() override {
    Connection::destroy(connection_);
    ::close(client_);
  }

  void send(std::string_view text) {
    EXPECT_EQ(::send(client_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  int client_ = -1;
  Connection* connection_ = nullptr;
};

TEST_F(AgentConnection, IsClosedWhereAnAnswerIsNotReadForAMinute) {
  send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const Moment asked = kBegin + 5s;
  connection_->step(asked, POLLIN, 0);
  EXPECT_EQ(connection_->wake_at(), asked + 60s);
  connection_->step(asked + 59s, 0, 0);
  EXPECT_FALSE(connection_->is_closed());
  connection_->step(asked + 60s, 0, 0);
  EXPECT_TRUE(connection_->is_closed());
}

TEST_F(AgentConnection, RefusesARequestThatTakesTenSeconds) {
  send("GET / HTTP/1.1\r\nHost: ");
  connection_->step(kBegin + 5s, POLLIN, 0);
  EXPECT_EQ(connection_->wake_at(), kBegin + 10s);
  connection_->step(kBegin + 10s, 0, 0);
  char line[13] = {};
  EXPECT_EQ(::recv(client_, line, sizeof line - 1, MSG_DONTWAIT), 12);
  EXPECT_STREQ(line, "HTTP/1.1 408");
}

}  // namespace
}  // namespace swipr::agent
