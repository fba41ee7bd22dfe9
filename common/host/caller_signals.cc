#include "common/host/caller_signals.h"

#include <signal.h>

namespace swipr::host {

namespace {

using Handler = void (*)(int);

struct Disposition {
  int number;
  Handler wanted;
  Handler callers = SIG_DFL;  // after exec there are only two
};

Disposition dispositions[] = {{SIGPIPE, SIG_IGN}, {SIGXFSZ, SIG_IGN}, {SIGCHLD, SIG_DFL}};

}  // namespace

void take_signals_from_caller() noexcept {
  for (Disposition& each : dispositions) {
    const Handler before = ::signal(each.number, each.wanted);
    if (before != SIG_ERR) each.callers = before;
  }
}

void return_signals_of_caller() noexcept {
  for (const Disposition& each : dispositions) ::signal(each.number, each.callers);
}

}  // namespace swipr::host
