// /proc as it was when the control thread started: a program that changes its root later, or moves
// to where there is no /proc, is recorded all the same. Context: control thread; before it runs,
// and without it, /proc is looked up each time.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace swipr::agent {

void open_proc_directory() noexcept;
// After a fork, or when the control thread ended: the descriptor was one of its table.
void forget_proc_directory() noexcept;

// `path` is absolute; only those below /proc/ are looked up in it. As open(2), with O_CLOEXEC.
int open_below_proc(const char* path, int flags) noexcept;
// As readlink(2); the text that a link holds.
std::string_view read_link_below_proc(const char* path, std::span<char> buffer) noexcept;

}  // namespace swipr::agent
