// Draws `swipr top`: all panes side by side, or the chosen one where there is no room. Pure.
#pragma once

#include "cli/live/canvas.h"
#include "cli/live/figures.h"
#include "cli/live/view.h"

namespace swipr::live {

// From this width on, all panes are seen.
inline constexpr std::size_t kWideColumns = 110;

void draw(Canvas& canvas, const Figures& figures, const View& view);

}  // namespace swipr::live
