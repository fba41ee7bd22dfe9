// Tests the client with a small agent at the other end of a socket pair.
#include "cli/session/record_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/session/http/connection.h"
#include "common/host/proc.h"
#include "common/wire/decoder.h"
#include "common/wire/names.h"
#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct SocketPair {
  host::UniqueFd client;
  host::UniqueFd agent;
};

SocketPair make_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) ADD_FAILURE();
  return {host::UniqueFd(fds[0]), host::UniqueFd(fds[1])};
}

void send_bytes(const host::UniqueFd& fd, const Bytes& bytes) {
  EXPECT_TRUE(send_text(fd.value(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

// All that arrives until the peer shuts down.
std::string receive_all(const host::UniqueFd& fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::recv(fd.value(), buffer, sizeof buffer, 0)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

class RecordSessionTest : public testing::Test {
 protected:
  RecordSessionTest()
      : file_(*RecordingFile::open(folder_.file("x.swipr"))),
        signals_(*SignalWatch::create({SIGUSR1})) {}

  std::vector<std::pair<std::uint32_t, Bytes>> blocks() {
    EXPECT_TRUE(file_.close());
    return blocks_of(read_bytes(folder_.file("x.swipr")));
  }
  static wire::EndReason end_reason_of(const Bytes& payload) {
    std::span<const std::byte> rest = payload;
    const auto record = wire::take_record(rest);
    const auto end = record ? wire::decode_end(record->payload) : std::nullopt;
    return end ? end->reason : wire::EndReason::kFailed;
  }

  TemporaryFolder folder_;
  RecordingFile file_;
  SignalWatch signals_;
};

TEST_F(RecordSessionTest, CopiesAStreamAndSumsItUp) {
  SocketPair pair = make_pair();
  send_bytes(pair.agent,
             record_answer({source_payload(1, 2), tick_payload(2, 10), tick_payload(2, 10),
                            totals_payload(2, 8, 1), end_payload()}));
  RecordSession session(file_, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  const SessionResult result = session.run();
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_EQ(result.totals.processes, 1u);
  EXPECT_EQ(result.totals.ticks_asked, 2u);
  EXPECT_EQ(result.totals.samples, 8u);
  EXPECT_EQ(result.totals.dropped, 1u);
  EXPECT_EQ(result.first.command_name, "app");
  EXPECT_THAT(blocks(), SizeIs(5));
}

TEST_F(RecordSessionTest, AsksForWhatWasWanted) {
  SocketPair pair = make_pair();
  send_bytes(pair.agent, record_answer({source_payload(1), end_payload()}));
  RecordSession session(file_, signals_, {2ms, 1000, 0ns, 105, wire::RecordMode::kCpu, false});
  session.add(std::move(pair.client), "process 1 (app)");
  static_cast<void>(session.run());
  const std::string request = receive_all(pair.agent);
  EXPECT_THAT(request, testing::StartsWith("POST /v1/record HTTP/1.1\r\n"));
  EXPECT_THAT(
      request,
      testing::EndsWith(
          R"({"timeInterval":"2 ms","numberOfSamples":1000,"maxOverhead":"10.5%","mode":"cpu",)"
          R"("jitter":false})"));
}

TEST_F(RecordSessionTest, WritesWhoseProcessItIsAndLeavesTheCommandLineOut) {
  for (const bool omits : {false, true}) {
    TemporaryFolder folder;
    auto file = RecordingFile::open(folder.file("y.swipr"));
    ASSERT_TRUE(file);
    SocketPair pair = make_pair();
    send_bytes(pair.agent, record_answer({source_payload(1), end_payload()}));
    StreamRequest request;
    request.omits_arguments = omits;
    RecordSession session(*file, signals_, request);
    session.add(std::move(pair.client), "process 1 (app)");
    static_cast<void>(session.run());
    ASSERT_TRUE(file->close());
    const auto written = blocks_of(read_bytes(folder.file("y.swipr")));
    std::span<const std::byte> rest = written.at(0).second;
    const auto source = wire::decode_source(wire::take_record(rest)->payload);
    ASSERT_TRUE(source);
    EXPECT_EQ(source->command_line, omits ? "" : std::string_view("app\0-p secret", 13));
    EXPECT_EQ(source->executable, "/usr/bin/app");
    const auto user = wire::take_record(rest);
    EXPECT_EQ(user->type, static_cast<std::uint8_t>(wire::RecordType::kUser));
    EXPECT_EQ(wire::decode_user(user->payload)->user, ::geteuid());
    EXPECT_EQ(wire::take_record(rest)->type, static_cast<std::uint8_t>(wire::RecordType::kThread));
  }
}

TEST_F(RecordSessionTest, MergesStreamsUnderNumbersOfTheirOwn) {
  SocketPair one = make_pair();
  SocketPair two = make_pair();
  send_bytes(one.agent, record_answer({source_payload(1), end_payload()}));
  send_bytes(two.agent, record_answer({source_payload(2), end_payload()}));
  RecordSession session(file_, signals_, {});
  session.add(std::move(one.client), "process 1 (app)");
  session.add(std::move(two.client), "process 2 (app)");
  EXPECT_EQ(session.run().totals.processes, 2u);
  std::vector<std::uint32_t> sources;
  for (const auto& [source, payload] : blocks()) sources.push_back(source);
  EXPECT_THAT(sources, testing::UnorderedElementsAre(0, 0, 1, 1));
}

TEST_F(RecordSessionTest, EndsAStreamThatBreaksOff) {
  SocketPair pair = make_pair();
  send_bytes(pair.agent, record_answer({source_payload(1), tick_payload(1, 10)}, false));
  pair.agent.close();
  RecordSession session(file_, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  const SessionResult result = session.run();
  EXPECT_THAT(result.errors, IsEmpty());
  const auto written = blocks();
  ASSERT_THAT(written, SizeIs(3));
  EXPECT_EQ(end_reason_of(written.back().second), wire::EndReason::kConnectionLost);
}

TEST_F(RecordSessionTest, PassesOnWhyTheAgentRefuses) {
  SocketPair pair = make_pair();
  send_bytes(
      pair.agent,
      to_bytes("HTTP/1.1 503 Busy\r\nContent-Length: 26\r\n\r\ntoo many\x1b recordings run\n\n"));
  RecordSession session(file_, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  const SessionResult result = session.run();
  EXPECT_THAT(result.errors, ElementsAre("process 1 (app): too many recordings run"));
  EXPECT_EQ(result.totals.processes, 0u);
  EXPECT_TRUE(file_.empty());
}

TEST_F(RecordSessionTest, KeepsWhatCameBeforeDamage) {
  SocketPair pair = make_pair();
  Bytes answer = record_answer({source_payload(1)}, false);
  Bytes damaged = block(end_payload());
  damaged.back() ^= std::byte{1};
  send_bytes(pair.agent, std::move(answer) + chunk(damaged));
  RecordSession session(file_, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  const SessionResult result = session.run();
  EXPECT_THAT(result.errors, ElementsAre(HasSubstr("damaged")));
  const auto written = blocks();
  ASSERT_THAT(written, SizeIs(2));
  EXPECT_EQ(end_reason_of(written.back().second), wire::EndReason::kConnectionLost);
}

TEST_F(RecordSessionTest, AsksTheAgentToEndOnASignalAndReadsTheRest) {
  SocketPair pair = make_pair();
  // The agent sends the end only on request.
  std::thread agent([fd = std::move(pair.agent)] {
    send_bytes(fd, record_answer({source_payload(1)}, false));
    receive_all(fd);  // the request, and then the shutdown
    send_bytes(fd, chunk(block(end_payload())) + to_bytes("0\r\n\r\n"));
  });
  RecordSession session(file_, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  ::kill(::getpid(), SIGUSR1);
  const SessionResult result = session.run();
  agent.join();
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.abandoned);
  EXPECT_EQ(result.totals.processes, 1u);
  EXPECT_EQ(end_reason_of(blocks().back().second), wire::EndReason::kProcessExit);
}

TEST_F(RecordSessionTest, StopsWhenTheDiskIsFull) {
  auto full = RecordingFile::open("/dev/full");
  ASSERT_TRUE(full);
  SocketPair pair = make_pair();
  send_bytes(pair.agent, record_answer({source_payload(1)}, false));
  RecordSession session(*full, signals_, {});
  session.add(std::move(pair.client), "process 1 (app)");
  const SessionResult result = session.run();
  ASSERT_TRUE(result.file_error);
  EXPECT_THAT(result.file_error->message(), HasSubstr("No space left"));
  EXPECT_THAT(result.errors, IsEmpty());
}

TEST_F(RecordSessionTest, LastsUntilTheCommandEnds) {
  auto watch = SignalWatch::create({SIGCHLD});
  ASSERT_TRUE(watch);
  auto rendezvous = Rendezvous::create();
  ASSERT_TRUE(rendezvous);
  LaunchPlan plan;
  plan.program = "/bin/sh";
  plan.arguments = {"sh", "-c", "test \"$0\" = \"$SWIPR_RENDEZVOUS\" && exit 7",
                    rendezvous->path()};
  plan.rendezvous = rendezvous->path();
  plan.signal_mask = watch->previous_mask();
  auto launch = Launch::prepare(plan);
  ASSERT_TRUE(launch);
  RecordSession session(file_, *watch, {});
  session.set_child(launch->pid(), *rendezvous, true);
  ASSERT_TRUE(launch->run());
  const SessionResult result = session.run();
  ASSERT_TRUE(result.child_status);
  EXPECT_EQ(WEXITSTATUS(*result.child_status), 7);
}

// Limits this process to the descriptors that it has.
class NoDescriptorIsFree {
 public:
  NoDescriptorIsFree() {
    const host::UniqueFd lowest(::dup(STDIN_FILENO));
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit tight{static_cast<rlim_t>(lowest.value()), old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  }
  ~NoDescriptorIsFree() { ::setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

// How long this thread has been asleep so far: neither on a CPU nor waiting for one.
// Source: Documentation/scheduler/sched-stats.rst.
std::chrono::nanoseconds own_sleep() {
  std::int64_t cpu_ns = 0;
  std::int64_t runqueue_ns = 0;
  std::ifstream("/proc/thread-self/schedstat") >> cpu_ns >> runqueue_ns;
  return std::chrono::steady_clock::now().time_since_epoch() -
         std::chrono::nanoseconds(cpu_ns + runqueue_ns);
}

TEST_F(RecordSessionTest, RestsWhileNoDescriptorIsFree) {
  auto watch = SignalWatch::create({SIGCHLD});
  auto rendezvous = Rendezvous::create();
  ASSERT_TRUE(watch && rendezvous);
  LaunchPlan plan;
  plan.program = "sleep";
  plan.arguments = {"sleep", "1"};
  plan.signal_mask = watch->previous_mask();
  auto launch = Launch::prepare(plan);
  ASSERT_TRUE(launch);
  RecordSession session(file_, *watch, {});
  session.set_child(launch->pid(), *rendezvous, true);
  ASSERT_TRUE(launch->run());
  const std::filesystem::path place = rendezvous->path();
  const ConnectOutcome waiting = connect_in(place.parent_path(), place.filename());
  ASSERT_TRUE(waiting.fd);
  const auto before = own_sleep();
  const SessionResult result = [&] {
    const NoDescriptorIsFree none;  // only during this: the sanitizers' own checks need descriptors
    return session.run();
  }();
  // A poll that returns at once would not sleep in the whole second.
  EXPECT_GT(own_sleep() - before, 200ms);
  EXPECT_THAT(result.errors, ElementsAre(HasSubstr("Too many open files")));
}

// The answer to a process of `client` that connects to the rendezvous of a `swipr` of `user`.
class UserSession : public RecordSessionTest {
 protected:
  std::string heard_by(uid_t client, uid_t user) {
    auto watch = SignalWatch::create({SIGCHLD});
    auto rendezvous = Rendezvous::create();
    LaunchPlan plan;
    plan.program = "sleep";
    plan.arguments = {"sleep", "600"};
    plan.signal_mask = watch->previous_mask();
    auto launch = Launch::prepare(plan);
    const Pid child = launch->pid();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    rendezvous->path().copy(address.sun_path, sizeof address.sun_path - 1);
    const host::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::seteuid(client), 0);
    EXPECT_EQ(
        ::connect(socket.value(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_TRUE(launch->run());
    EXPECT_EQ(::seteuid(user), 0);
    RecordSession session(file_, *watch, {});
    session.set_child(child, *rendezvous, true);
    std::string heard(4, '\0');
    std::thread listening([&] {
      const ssize_t count = ::recv(socket.value(), heard.data(), heard.size(), MSG_WAITALL);
      heard.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      ::shutdown(socket.value(), SHUT_RDWR);
      ::kill(child.value, SIGKILL);
    });
    static_cast<void>(session.run());
    listening.join();
    EXPECT_EQ(::seteuid(0), 0);
    return heard;
  }
};

TEST_F(UserSession, AsksNoProcessOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be others";
  constexpr uid_t kUser = 65534;
  constexpr uid_t kOther = 65533;
  EXPECT_EQ(heard_by(kOther, kUser), "");
  EXPECT_EQ(heard_by(kUser, kUser), "POST");
  EXPECT_EQ(heard_by(0, kUser), "POST");
  EXPECT_EQ(heard_by(kUser, 0), "POST");
}

TEST(Launch, ReportsWhyAProgramDoesNotRun) {
  LaunchPlan plan;
  plan.program = "/no/such/program";
  plan.arguments = {"program"};
  sigemptyset(&plan.signal_mask);
  auto launch = Launch::prepare(plan);
  ASSERT_TRUE(launch);
  const auto run = launch->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message(), "No such file or directory");
}

TEST(Launch, DoesNothingWithoutRun) {
  TemporaryFolder folder;
  LaunchPlan plan;
  plan.program = "/bin/sh";
  plan.arguments = {"sh", "-c", "touch \"$0\"", folder.file("ran")};
  sigemptyset(&plan.signal_mask);
  {
    auto launch = Launch::prepare(plan);
    ASSERT_TRUE(launch);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

TEST(Rendezvous, LeavesNothingBehind) {
  std::string path;
  {
    auto rendezvous = Rendezvous::create();
    ASSERT_TRUE(rendezvous);
    path = rendezvous->path();
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(rendezvous->try_accept());
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST(Rendezvous, IsReachedByOthersOnlyWhenRootTellsThem) {
  using std::filesystem::perms;
  auto rendezvous = Rendezvous::create();
  ASSERT_TRUE(rendezvous);
  const std::filesystem::path path = rendezvous->path();
  const perms folder = std::filesystem::status(path.parent_path()).permissions();
  EXPECT_EQ(folder & (perms::group_read | perms::others_read), perms::none);
  const bool shared = ::geteuid() == 0;
  EXPECT_EQ((folder & perms::others_exec) != perms::none, shared);
  if (!shared) return;
  EXPECT_EQ(std::filesystem::status(path).permissions() & perms::others_write, perms::others_write);
  const auto listed = host::read_file("/proc/net/unix");
  ASSERT_TRUE(listed);
  EXPECT_THAT(*listed, HasSubstr(path.parent_path().string()));
  EXPECT_THAT(*listed, testing::Not(HasSubstr(path.filename().string())));
}

}  // namespace
}  // namespace swipr::session
