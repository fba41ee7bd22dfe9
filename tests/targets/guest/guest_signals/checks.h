// Functions that the checks of guest_signals share, and the checks: one file for each subject. The
// output of a check is compared as text, with and without swipr.
#pragma once

#include <signal.h>

#include <cerrno>
#include <string>

#include "tests/targets/target.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // old programs call them all the same

namespace guest_signals {

inline constexpr int kSignals[] = {SIGURG, SIGWINCH, SIGUSR1, 40};

// Uses CPU time, so that swipr sends signals.
void work(std::int64_t ns = 30'000'000);

// Not raise: a signal for one thread is not queued while another of its kind waits for that thread,
// and that one may be swipr's.
void send(int number);

void tell(const std::string& what, long value);
void tell_disposition(const char* when, int number);
std::string text_of(const struct sigaction& action);

// What the handlers saw.
extern volatile sig_atomic_t seen;
extern volatile sig_atomic_t seen_code;
extern volatile sig_atomic_t seen_value;
extern volatile sig_atomic_t seen_strange;

void on_simple(int);
void on_info(int, siginfo_t* info, void*);
struct sigaction make(void (*function)(int), int flags);

// dispositions.cc
void check_dispositions();
void check_older_functions();
void check_reset();

// deliveries.cc
void check_foreign_signals();
void check_interruption();
void check_longjmp();
void check_profiling_timer();

// masks.cc
void check_other_signal();
void check_blocked();
void check_masks();

// stacks.cc
void check_small_stack();
void check_smallest_stack();
void check_backtrace();

// processes.cc
void check_vfork();
void check_cancellation();
void check_set_user();
void check_exec(char* self);
void tell_inherited();

}  // namespace guest_signals
