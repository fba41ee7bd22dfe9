// Tells a person where pages are.
#pragma once

#include <signal.h>

#include <cstdio>
#include <string>

namespace swipr::commands {

// Prints the address on its own line of `out`, flushed, for scripts. Opens it with xdg-open if that
// is wanted and there is a display; `signal_mask` is for the browser.
void announce(const std::string& url, std::FILE* out, bool opens_browser,
              const sigset_t& signal_mask);

}  // namespace swipr::commands
