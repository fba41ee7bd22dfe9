// Gives the calling thread an own descriptor table without the program's descriptors and, if the
// kernel permits it, an own root directory.
// Context: control thread, first thing.
#pragma once

namespace swipr::agent {

// Also opens the log and /proc. False: the kernel or a seccomp filter refuses; no file may be
// opened then.
bool take_own_descriptors() noexcept;

}  // namespace swipr::agent
