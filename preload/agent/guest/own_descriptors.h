// Gives the calling thread a descriptor table of its own that holds nothing of the program's, and,
// where the kernel allows it, a root directory of its own.
// Context: control thread, first thing.
#pragma once

namespace swipr::agent {

// Also opens the log and /proc. False: the kernel or a seccomp filter refuses; nothing may be
// opened then.
bool take_own_descriptors() noexcept;

}  // namespace swipr::agent
