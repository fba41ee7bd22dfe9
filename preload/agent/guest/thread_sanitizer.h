// Programs built with -fsanitize=thread. Their runtime watches the control thread as one of theirs,
// but not what this library's own atomic operations order, and ends a child that starts a thread
// when there were several at the fork.
#pragma once

namespace swipr::agent::thread_sanitizer {

// Before the first control thread.
void find() noexcept;
bool is_present() noexcept;
// All that the releasing thread did comes before what the acquiring one does.
void release() noexcept;
void acquire() noexcept;

}  // namespace swipr::agent::thread_sanitizer
