// Saves and restores errno. A signal handler must not change errno of the interrupted code.
// Context: anywhere, signal handlers included.
#pragma once

#include <cerrno>

namespace swipr {

class ErrnoSaver {
 public:
  ErrnoSaver() noexcept : saved_(errno) {}
  ~ErrnoSaver() { errno = saved_; }
  ErrnoSaver(const ErrnoSaver&) = delete;
  ErrnoSaver& operator=(const ErrnoSaver&) = delete;

 private:
  int saved_;
};

}  // namespace swipr
