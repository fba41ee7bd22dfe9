// SWIPR_SIGNAL_SAFE marks a declaration that may be called from a signal handler: no lock, no
// allocation, no unbounded loop, no fault, errno kept. scripts/check_signal_safe proves what the
// archives of such code call.
#pragma once

#define SWIPR_SIGNAL_SAFE
