#include "cli/session/launch/signal_watch.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace swipr::session {

host::Result<SignalWatch> SignalWatch::create(std::initializer_list<int> signals) {
  sigset_t watched;
  sigemptyset(&watched);
  for (int number : signals) {
    struct sigaction action {};
    // Under nohup, SIGHUP stays ignored.
    if (number == SIGHUP && ::sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN) {
      continue;
    }
    sigaddset(&watched, number);
  }
  SignalWatch watch;
  watch.fd_ = host::UniqueFd(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!watch.fd_ || ::sigprocmask(SIG_BLOCK, &watched, &watch.previous_) != 0) {
    watch.fd_.close();
    return host::system_error("cannot watch for signals", errno);
  }
  return watch;
}

SignalWatch::SignalWatch(SignalWatch&& other) noexcept
    : fd_(std::move(other.fd_)), previous_(other.previous_) {}

SignalWatch::~SignalWatch() { stop(); }

void SignalWatch::stop() {
  if (!fd_) return;
  fd_.close();
  ::sigprocmask(SIG_SETMASK, &previous_, nullptr);
}

std::optional<CaughtSignal> SignalWatch::try_take() {
  signalfd_siginfo info{};
  if (::read(fd_.value(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return CaughtSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace swipr::session
