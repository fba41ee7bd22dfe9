#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/compare_unwinders.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "cli/session/checkup/checkup.h"
#include "common/host/temporary_folder.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {

using session::Finding;
using session::Verdict;

// Runs `swipr record -- sleep 0.3`, silently. Its exit code; -1: it could not be started.
int run_trial(const std::string& output) {
  posix_spawn_file_actions_t silent;
  ::posix_spawn_file_actions_init(&silent);
  ::posix_spawn_file_actions_addopen(&silent, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words{"swipr", "record", "-o", output, "--", "sleep", "0.3"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, "/proc/self/exe", &silent, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&silent);
  int status = 0;
  if (error != 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// The proof: a program is started, recorded and read back.
Finding make_trial() {
  const host::TemporaryFolder folder;
  if (!folder.exists()) {
    return {Verdict::kFailed, "trial",
            fmt::format("cannot create a folder in {}: {}", host::temporary_place(),
                        std::strerror(errno)),
            "set TMPDIR to a folder that can be written"};
  }
  const std::string file = folder.path() + "/trial.swipr";
  const int code = run_trial(file);
  auto recording = load_recording(file);
  if (code != 0 || !recording || recording->samples.empty()) {
    return {Verdict::kFailed, "trial", "`sleep 0.3` could not be recorded",
            "to see the error, run swipr record -- sleep 0.3"};
  }
  std::uint64_t ticks = 0;
  std::uint64_t complete = 0;
  for (const profile::Sample& sample : recording->samples) {
    ticks += sample.ticks;
    if (sample.stack != profile::kNone && recording->stacks[sample.stack].root_reached)
      complete += sample.ticks;
  }
  return {Verdict::kFine, "trial",
          fmt::format("`sleep 0.3` recorded: {}, {} with a complete stack",
                      counted(ticks, "sample"), with_thousands(complete)),
          ""};
}

std::string_view mark(Verdict verdict, bool colour) {
  switch (verdict) {
    case Verdict::kFine:
      return colour ? "\x1b[32m ok \x1b[0m" : " ok ";
    case Verdict::kNote:
      return colour ? "\x1b[33mnote\x1b[0m" : "note";
    case Verdict::kFailed:
      break;
  }
  return colour ? "\x1b[31mFAIL\x1b[0m" : "FAIL";
}

void print_findings(const std::vector<Finding>& findings, exporters::Sink& out) {
  const bool colour = terminal_columns(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  for (const Finding& finding : findings) {
    out.write(fmt::format("{}  {:<16} {}\n", mark(finding.verdict, colour), finding.subject,
                          host::clean_text(finding.text)));
    if (finding.remedy.empty()) continue;
    out.write(fmt::format("{:22} → {}\n", "", host::clean_text(finding.remedy)));
  }
}

}  // namespace

Outcome run_doctor(const options::DoctorOptions& options) {
  if (options.compares_unwinders) return compare_unwinders_of(options.command);
  exporters::Sink out(STDOUT_FILENO, "standard output");
  std::vector<Finding> findings;
  if (options.pid) {
    findings = session::check_process(*options.pid);
  } else {
    findings = session::check_machine();
    findings.push_back(make_trial());
  }
  print_findings(findings, out);
  if (auto written = out.flush(); !written) return written.error();
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::kFailed) return Failure{"", kFailed};
  }
  return kDone;
}

}  // namespace swipr::commands
