#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "cli/session/find/listing_json.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/program.h"
#include "common/host/text/clean_text.h"
#include "common/host/text/duration.h"

namespace swipr::commands {

namespace {

constexpr std::size_t kMinCommandColumns = 15;  // the kernel's names have at most 15 bytes
constexpr std::size_t kMaxCommandColumns = 43;  // 7 C1 controls, each shown as \u0085, and a letter

// Truncates a path at its start, because its end is more specific. `columns` 0: no limit.
std::string fit_path(const std::string& path, std::size_t columns) {
  if (columns == 0 || path.size() <= columns || columns < 4) return path;
  return "..." + path.substr(path.size() - columns + 3);
}

std::string format_table(const session::Listing& listing, std::size_t columns) {
  std::size_t command_columns = kMinCommandColumns;
  for (const auto& process : listing.processes) {
    const std::size_t wanted = host::clean_text(process.command).size();
    command_columns = std::max(command_columns, std::min(wanted, kMaxCommandColumns));
  }
  constexpr std::size_t kOtherColumns = 7 + 2 + 2 + 7 + 2 + 10 + 2;
  const std::size_t taken = kOtherColumns + command_columns;
  // Shorter paths would be useless; the terminal wraps the line instead.
  const std::size_t socket_columns = columns > taken + 12 ? columns - taken : 0;
  std::string table = fmt::format("{:>7}  {:{}}  {:>7}  {:>10}  {}\n", "PID", "COMMAND",
                                  command_columns, "THREADS", "AGE", "SOCKET");
  for (const auto& process : listing.processes) {
    table += fmt::format(
        "{:>7}  {:{}.{}}  {:>7}  {:>10}  {}\n", process.pid.value,
        host::clean_text(process.command), command_columns, command_columns, process.threads,
        host::format_duration(std::chrono::floor<std::chrono::seconds>(process.age)),
        fit_path(host::clean_text(process.socket), socket_columns));
  }
  return table;
}

// Returns one line for any number of sockets.
std::string describe_removed(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return fmt::format("removed {}: its process has ended", paths.front());
  return fmt::format("removed {} sockets of ended processes, such as {}", paths.size(),
                     paths.front());
}

}  // namespace

Outcome run_list(const options::ListOptions& options) {
  const session::Listing listing = session::list_targets();
  end_without_reader();
  exporters::Sink out(STDOUT_FILENO, "standard output");
  if (options.json) {
    out.write(session::format_listing_json(listing));
  } else if (!listing.processes.empty()) {
    out.write(format_table(listing, terminal_columns(STDOUT_FILENO)));
  }
  if (auto written = out.flush(); !written) return written.error();
  if (!listing.removed.empty()) print_note(describe_removed(listing.removed));
  print_notes(listing.notes);
  if (listing.processes.empty()) {
    print_note(fmt::format(
        "no process can be recorded; start a program with {}, or with swipr record -- CMD",
        session::preload_setting()));
  }
  return kDone;
}

}  // namespace swipr::commands
