// The line that shows how a recording is getting on.
#pragma once

#include <cstddef>
#include <string>

#include "cli/session/record_session.h"

namespace swipr::commands {

// At most `columns` wide; what matters less is left out first.
std::string format_progress(const session::SessionProgress& progress, std::size_t columns);

// Draws over itself on stderr and leaves nothing behind.
class ProgressLine {
 public:
  ~ProgressLine() { clear(); }
  void show(const session::SessionProgress& progress);
  void clear();

 private:
  std::size_t shown_columns_ = 0;
};

}  // namespace swipr::commands
