#include "cli/export/page/page_sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/export/text/json_text.h"
#include "common/host/unique_fd.h"

namespace swipr::exporters {

namespace {

constexpr off_t kMaxFileBytes = off_t{16} << 20;
constexpr std::size_t kMaxLineBytes = 200;
constexpr std::size_t kMaxTextBytes = std::size_t{4} << 20;

// Recordings may name any file: the texts of others are not for a page.
constexpr std::string_view kExtensions[] = {
    ".c",     ".cc", ".cpp",   ".cxx", ".h",   ".hh",  ".hpp", ".hxx", ".inc", ".inl",
    ".ipp",   ".S",  ".s",     ".py",  ".pyx", ".pxd", ".js",  ".mjs", ".cjs", ".ts",
    ".java",  ".kt", ".scala", ".rb",  ".php", ".go",  ".rs",  ".pl",  ".pm",  ".lua",
    ".swift", ".d",  ".f90",   ".cs",  ".zig", ".tcc", ".m",   ".mm"};

bool is_source(std::string_view path) {
  return std::any_of(std::begin(kExtensions), std::end(kExtensions),
                     [path](std::string_view extension) { return path.ends_with(extension); });
}

using LineNumbers = std::set<std::uint32_t>;

// When the first process began to be recorded; 0: not known.
std::chrono::nanoseconds start_of(const profile::Recording& recording) {
  std::chrono::nanoseconds start{0};
  for (const profile::Process& process : recording.processes) {
    const auto began = process.start_realtime;
    if (began.count() > 0 && (start.count() == 0 || began < start)) start = began;
  }
  return start;
}

// Empty: no regular file, too large, or another one than that which was recorded.
std::string read_source(const std::string& path, std::chrono::nanoseconds recorded) {
  const host::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.value(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (status.st_size > kMaxFileBytes) return {};
  const auto changed = std::chrono::seconds(status.st_mtim.tv_sec);
  if (recorded.count() > 0 && changed > recorded) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.value(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// "12":"  total += value;", for each of these lines that the text has.
std::string pick_lines(std::string_view text, const LineNumbers& numbers) {
  std::string picked;
  std::uint32_t number = 1;
  for (std::size_t at = 0; at < text.size() && number <= *numbers.rbegin(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (numbers.contains(number)) {
      std::string line(text.substr(at, std::min(end - at, kMaxLineBytes)));
      line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
      picked += fmt::format("{}\"{}\":{}", picked.empty() ? "" : ",", number, json_string(line));
    }
    at = end + 1;
  }
  return picked;
}

}  // namespace

void write_page_sources(const profile::Recording& recording,
                        const std::vector<profile::StackTree::Place>& places, Sink& sink) {
  std::map<std::string_view, LineNumbers> wanted;
  for (const auto& place : places) {
    const bool is_wanted = place.line != 0 && place.file.starts_with('/') && is_source(place.file);
    if (is_wanted) wanted[place.file].insert(place.line);
  }
  const auto recorded = start_of(recording);
  std::size_t room = kMaxTextBytes;
  bool is_first = true;
  sink.write("\"sources\":{");
  for (const auto& [path, numbers] : wanted) {
    const std::string lines = pick_lines(read_source(std::string(path), recorded), numbers);
    if (lines.empty() || lines.size() > room) continue;
    room -= lines.size();
    sink.write(fmt::format("{}{}:{{{}}}", is_first ? "" : ",\n", json_string(path), lines));
    is_first = false;
  }
  sink.write("},\n");
}

}  // namespace swipr::exporters
