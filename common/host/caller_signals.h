// Sets the signal dispositions that swipr needs, and restores those of the caller for programs
// that it starts.
#pragma once

namespace swipr::host {

// Ignores SIGPIPE and SIGXFSZ, so that closed pipes and file size limits are write errors. Sets
// SIGCHLD to its default, because the kernel reaps children if the caller has ignored it.
// Thread: call before other threads exist.
void take_signals_from_caller() noexcept;

// Restores the caller's dispositions.  Context: the child of a fork.
void return_signals_of_caller() noexcept;

}  // namespace swipr::host
