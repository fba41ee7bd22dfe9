#include "cli/options/suggestion.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace swipr::options {

namespace {

constexpr std::size_t kMaxWordBytes = 64;

// Edit distance with transpositions (optimal string alignment).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), previous(to.size() + 1), row(to.size() + 1);
  for (std::size_t column = 0; column <= to.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    before = std::exchange(previous, row);
    row[0] = line;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const bool same = from[line - 1] == to[column - 1];
      row[column] = std::min(
          {previous[column] + 1, row[column - 1] + 1, previous[column - 1] + (same ? 0 : 1)});
      const bool swapped = line > 1 && column > 1 && from[line - 1] == to[column - 2] &&
                           from[line - 2] == to[column - 1];
      if (swapped) row[column] = std::min(row[column], before[column - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string find_similar(std::string_view word, std::span<const std::string> known) {
  if (word.size() < 2 || word.size() > kMaxWordBytes) return {};
  std::string nearest;
  std::size_t least = word.size() <= 4 ? 2 : 3;  // first distance that is too large
  for (const std::string& candidate : known) {
    if (word.size() > 2 && candidate.starts_with(word)) return candidate;
    const std::size_t changes = distance(word, candidate);
    if (changes >= least) continue;
    least = changes;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace swipr::options
