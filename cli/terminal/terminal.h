// A terminal that shows a Canvas and reads keys; the only place that includes curses.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/live/canvas.h"
#include "common/host/result.h"

namespace swipr::terminal {

class Terminal {
 public:
  // Takes over the terminal of standard input and output; the destructor gives it back as it was.
  // Errors: none is there, or its type is unknown.
  static host::Result<Terminal> open();
  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  std::size_t columns() const;
  std::size_t rows() const;
  // After SIGWINCH.
  void resize();
  // Of the locale.
  bool has_utf8() const { return has_utf8_; }

  void show(const live::Canvas& canvas);
  // live::Key or a character.  Blocks: never.
  std::optional<int> try_take_key();

 private:
  Terminal() = default;
  bool is_open_ = false;
  bool has_utf8_ = false;
  bool has_colours_ = false;
};

}  // namespace swipr::terminal
