#include "cli/push/pusher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "cli/push/environment.h"
#include "cli/push/sender.h"
#include "cli/push/spool.h"

namespace swipr::push {

namespace {

using namespace std::chrono_literals;
using host::Result;

constexpr auto kLook = 30s;  // the spool is looked at without a notice, too
// Pyroscope answers after half a second, when it has written what it got.
constexpr std::size_t kConnections = 8;
// Pyroscope refuses profiles that are older than an hour.
constexpr auto kMaxAgeForPyroscope = 55min;
constexpr char kNews = 'n';
constexpr char kFinish = 'f';

// What runs in the process.
class SpoolSender {
 public:
  SpoolSender(const PusherSettings& settings, Spool spool, Labels headers, SendPlace place,
              int control, int events)
      : settings_(settings),
        spool_(std::move(spool)),
        headers_(std::move(headers)),
        place_(std::move(place)),
        control_(control),
        events_(events) {}

  void run() {
    for (;;) {
      const auto entries = without_old(spool_.waiting());
      if (entries.empty()) {
        if (is_finishing_) return;
        if (wait(kLook)) wait(pause_of_host());
        continue;
      }
      // A store that wanted a pause is asked once more at the end.
      const bool is_last = is_finishing_;
      if (!send(std::span(entries).first(std::min(entries.size(), connections()))) && is_last) {
        return;
      }
    }
  }

 private:
  // A store that did not answer, or was busy, is asked once at a time.
  std::size_t connections() const { return repetition_ == 0 ? kConnections : 1; }

  bool is_too_old(const Spool::Entry& entry) const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return settings_.url.engine == Engine::kPyroscope && now - entry.begin > kMaxAgeForPyroscope;
  }

  // Drops what the store takes no more. After an outage these are thousands.
  std::vector<Spool::Entry> without_old(std::vector<Spool::Entry> entries) {
    std::erase_if(entries, [this](const Spool::Entry& entry) {
      if (!is_too_old(entry)) return false;
      if (spool_.remove(entry.name)) say({PushEvent::Kind::kTooOld, entry.bytes, ""});
      return true;
    });
    return entries;
  }

  // Returns false if the store is to be asked again, after the pause that it needs.
  bool send(std::span<const Spool::Entry> entries) {
    std::vector<Sent> all;
    for (const Spool::Entry& entry : entries) {
      auto request = spool_.claim(entry.name);
      if (!request) continue;  // the spool was full and this one the oldest
      request->headers.insert(request->headers.end(), headers_.begin(), headers_.end());
      all.push_back({entry.name, request->body.size(), begin(all.size(), *request)});
    }
    std::optional<Answer> later;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const Answer answer = all[at].failure ? *all[at].failure : end(at);
      if (!settle(all[at], answer)) later = answer;
    }
    if (!later) {
      if (!all.empty()) repetition_ = 0;
      return true;
    }
    if (!is_finishing_) wait(delay_before(repetition_++, later->retry_after, random_share()));
    return false;
  }

  // A request that is being sent by the connection of its place.
  struct Sent {
    std::string name;
    std::uint64_t bytes = 0;
    std::optional<Answer> failure;  // it is not: instead of an answer
  };

  // Returns false if it is to be sent again.
  bool settle(const Sent& sent, const Answer& answer) {
    const Outcome outcome = outcome_of(answer);
    const std::string text = answer.status > 0
                                 ? fmt::format("HTTP status {}: {}", answer.status, answer.text)
                                 : answer.text;
    if (outcome == Outcome::kLater) {
      spool_.release(sent.name);
      say({PushEvent::Kind::kLater, sent.bytes, text});
      return false;
    }
    spool_.remove(sent.name);
    const auto kind = outcome == Outcome::kStored    ? PushEvent::Kind::kStored
                      : outcome == Outcome::kRefused ? PushEvent::Kind::kRefused
                                                     : PushEvent::Kind::kUnknown;
    say({kind, sent.bytes, kind == PushEvent::Kind::kStored ? "" : text});
    return true;
  }

  std::optional<Answer> begin(std::size_t place, const Request& request) {
    std::optional<Sender>& sender = senders_[place];
    if (!sender) {
      auto started = Sender::start(place_);
      if (!started) return Answer{.text = started.error().message()};
      sender.emplace(*std::move(started));
    }
    const auto sent = sender->send(request);
    if (sent) return std::nullopt;
    return broken(place, sent.error());
  }

  Answer end(std::size_t place) {
    auto answer = senders_[place]->receive();
    return answer ? *std::move(answer) : broken(place, answer.error());
  }

  // A sender that has ended may have sent the request.
  Answer broken(std::size_t place, const host::Error& error) {
    senders_[place].reset();
    Answer failure;
    failure.was_sent = true;
    failure.text = error.message();
    return failure;
  }

  double random_share() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::chrono::milliseconds pause_of_host() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(random_share() * settings_.spread);
  }

  // Returns true if the agent has shortened it.
  bool wait(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    for (;;) {
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd control{control_, POLLIN, 0};
      if (::poll(&control, 1, static_cast<int>(std::max(rest, 0ms).count())) <= 0) return false;
      char command = 0;
      if (::read(control_, &command, 1) <= 0) ::_exit(0);  // the agent has ended
      if (command == kFinish) is_finishing_ = true;
      // News do not shorten a pause that the store needs.
      if (is_finishing_ || repetition_ == 0) return true;
    }
  }

  void say(const PushEvent& event) {
    const std::string line = format_push_event(event);
    // Shorter than PIPE_BUF: written as a whole.
    if (::write(events_, line.data(), line.size()) < 0) ::_exit(0);
  }

  const PusherSettings& settings_;
  Spool spool_;
  Labels headers_;
  SendPlace place_;
  int control_;
  int events_;
  std::array<std::optional<Sender>, kConnections> senders_;
  std::random_device random_;
  unsigned repetition_ = 0;
  bool is_finishing_ = false;
};

Result<std::pair<host::UniqueFd, host::UniqueFd>> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return host::system_error("no pipe", errno);
  return std::pair(host::UniqueFd(ends[0]), host::UniqueFd(ends[1]));
}

}  // namespace

Pusher::Pusher(pid_t pid, host::UniqueFd control, host::UniqueFd events)
    : pid_(pid), control_(std::move(control)), events_(std::move(events)) {}

Pusher::Pusher(Pusher&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      control_(std::move(other.control_)),
      events_(std::move(other.events_)),
      unread_(std::move(other.unread_)) {}

Pusher::~Pusher() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Pusher> Pusher::start(const PusherSettings& settings) {
  const auto program = find_send_program();
  if (!program) return program.error();
  const auto proxy = choose_proxy(settings.url, proxy_variables());
  if (!proxy) return proxy.error();
  auto spool = Spool::open(settings.spool_folder, settings.spool_bytes);
  if (!spool) return spool.error();
  auto control = make_pipe();
  auto events = make_pipe();
  if (!control || !events) return control ? events.error() : control.error();
  if (!settings.token_file.empty() && ::access(settings.token_file.c_str(), R_OK) != 0) {
    return host::system_error("cannot read " + settings.token_file, errno);
  }
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return host::system_error("cannot start a process that pushes", errno);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != agent) ::_exit(0);
    ::signal(SIGPIPE, SIG_IGN);
    const auto token = read_token(settings.token_file);
    if (!token) ::_exit(1);
    SpoolSender(settings, *std::move(spool), headers_of(settings.url, {*token, settings.tenant}),
                {settings.url.origin(), *proxy, settings.ca_file}, control->first.value(),
                events->second.value())
        .run();
    ::_exit(0);
  }
  ::fcntl(events->first.value(), F_SETFL, O_NONBLOCK);
  ::fcntl(control->second.value(), F_SETFL, O_NONBLOCK);
  return Pusher(pid, std::move(control->second), std::move(events->first));
}

std::vector<PushEvent> Pusher::take_events() {
  std::vector<PushEvent> taken;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(events_.value(), buffer.data(), buffer.size());
    if (count <= 0) break;
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;) {
    auto event = parse_push_event(std::string_view(unread_).substr(begin, end - begin));
    if (event) taken.push_back(*std::move(event));
    begin = end + 1;
  }
  unread_.erase(0, begin);
  return taken;
}

void Pusher::notify() { static_cast<void>(::write(control_.value(), &kNews, 1)); }
void Pusher::finish() { static_cast<void>(::write(control_.value(), &kFinish, 1)); }

bool Pusher::has_ended() {
  if (pid_ < 0) return true;
  if (::waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

}  // namespace swipr::push
