// Programs built with -fsanitize=thread. Their runtime checks the control thread as one of the
// program's threads, does not see the synchronisation by this library's atomic operations, and
// terminates a child that starts a thread if there were several at the fork.
#pragma once

namespace swipr::agent::thread_sanitizer {

// Before the first control thread.
void find() noexcept;
bool is_present() noexcept;
// Everything before the release happens before everything after the acquire.
void release() noexcept;
void acquire() noexcept;

}  // namespace swipr::agent::thread_sanitizer
