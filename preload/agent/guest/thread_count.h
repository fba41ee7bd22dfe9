// libc's own count of threads: the thread that brings it to zero calls exit(0). The control thread
// is none of the program's, so while it is counted a program whose threads have all ended stays for
// ever.
#pragma once

namespace swipr::agent::thread_count {

// Before the first control thread. Where libc does not show its count (before 2.34) nothing
// happens, here and below.
void find() noexcept;

// Control thread:
// It is no longer counted. False: it is the only thread that is left; it has to end, and libc ends
// the process with it.
bool leave() noexcept;
// Before it ends by itself: libc counts every thread that ends.
void come_back() noexcept;

}  // namespace swipr::agent::thread_count
