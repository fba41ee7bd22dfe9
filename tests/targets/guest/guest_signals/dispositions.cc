// Dispositions read back as the program set them, by each function that sets them.
#include "tests/targets/guest/guest_signals/checks.h"

extern "C" void (*bsd_signal(int, void (*)(int)))(int);  // no longer declared

namespace guest_signals {

void check_dispositions() {
  for (int number : kSignals) {
    work();
    tell_disposition("first", number);
    struct sigaction wanted = make(on_simple, SA_RESTART | SA_ONSTACK);
    sigaddset(&wanted.sa_mask, SIGUSR2);
    sigaction(number, &wanted, nullptr);
    work();
    tell_disposition("set", number);
    wanted = make(nullptr, SA_SIGINFO | SA_ONSTACK);
    wanted.sa_sigaction = on_info;
    sigfillset(&wanted.sa_mask);
    struct sigaction before {};
    sigaction(number, &wanted, &before);
    std::printf("replaced: %s\n", text_of(before).c_str());
    work();
    tell_disposition("info", number);
    signal(number, SIG_IGN);
    work();
    tell_disposition("ignored", number);
    signal(number, SIG_DFL);
  }
}

void check_older_functions() {
  for (int number : kSignals) {
    work();
    tell("signal", signal(number, on_simple) == SIG_DFL);
    tell_disposition("signal", number);
    tell("sysv_signal", sysv_signal(number, SIG_IGN) == on_simple);
    tell("bsd_signal", bsd_signal(number, on_simple) == SIG_IGN);
    work();
    tell("siginterrupt", siginterrupt(number, 1));
    tell_disposition("siginterrupt", number);
    tell("signal", signal(number, on_simple) == on_simple);
    tell_disposition("interrupting", number);
    siginterrupt(number, 0);
    tell("sigset", sigset(number, SIG_HOLD) == on_simple);
    tell("sigset", sigset(number, SIG_DFL) == SIG_HOLD);
    tell("sigignore", sigignore(number));
    tell_disposition("sigignore", number);
    tell("signal", signal(number, SIG_DFL) == SIG_IGN);
  }
  tell("no such signal", signal(65, on_simple) == SIG_ERR && errno == EINVAL);
  tell("SIGKILL", signal(SIGKILL, on_simple) == SIG_ERR && errno == EINVAL);
  tell("libc's own", sigaction(32, nullptr, nullptr) == -1 && errno == EINVAL);
}

void check_reset() {
  for (int number : {SIGURG, SIGWINCH}) {
    struct sigaction wanted = make(on_simple, static_cast<int>(SA_RESETHAND));
    sigaction(number, &wanted, nullptr);
    seen = 0;
    work();
    send(number);
    send(number);
    tell("once", seen);
    tell_disposition("reset", number);
  }
}

}  // namespace guest_signals
