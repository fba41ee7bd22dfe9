// /proc as it was when the control thread started, so that a program can be recorded that later
// changes its root or has no /proc any more. Context: control thread; without it, /proc is opened
// each time.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace swipr::agent {

void open_proc_directory() noexcept;
// After a fork, or when the control thread has ended: the descriptor was in its table.
void forget_proc_directory() noexcept;

// `path` is absolute; only those below /proc/ are looked up in it. As open(2), with O_CLOEXEC.
int open_below_proc(const char* path, int flags) noexcept;
// As readlink(2); the target of a link.
std::string_view read_link_below_proc(const char* path, std::span<char> buffer) noexcept;

}  // namespace swipr::agent
