// Writes the golden recording in every format, for the tests with real readers.
// usage: write_golden FOLDER
#include <fcntl.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <string>

#include "cli/export/formats/export.h"
#include "common/host/unique_fd.h"
#include "tests/golden/crew_recording.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/workers_recording.h"

namespace {

using namespace swipr;

// Names as somebody would choose them who wants to run scripts in a viewer.
golden::Golden make_hostile() {
  golden::Golden input = golden::make_golden();
  const std::string script = "</script><script>window.broken = true</script>";
  input.recording.processes[0].command_name = "<!--<script>" + script;
  input.recording.threads[1].name = "<img src=x onerror='window.broken = true'>";
  input.recording.modules[1].path = "/opt/\"quoted\" & 'named'/" + script;
  input.recording.warnings.push_back(script);
  const auto texts = std::make_shared<std::deque<std::string>>();
  for (auto& frame : input.names.frames) {
    for (auto& named : frame) {
      texts->push_back(std::string(named.function) + " \\\"'" + script +
                       "\u2028`${broken}` \u202e日本 😀");
      named.function = texts->back();
    }
  }
  input.names.texts = texts;
  return input;
}

bool write(decltype(exporters::write_perf)* writer, const std::string& path,
           const golden::Golden& input = golden::make_golden(),
           const exporters::Options& options = {}) {
  const host::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  exporters::Sink sink(file.value(), path);
  const auto result = writer(input.recording, input.names, options, sink);
  if (!result) std::fprintf(stderr, "%s\n", result.error().message().c_str());
  return result.has_value();
}

// A page with the text of its lines.
bool write_crew(const std::string& folder) {
  const std::string file = folder + "/crew.cc";
  std::ofstream source(file);
  for (int line = 1; line <= 30; ++line) source << "\tstep(" << line << ");  // <b>\n";
  source.close();
  exporters::Options options;
  options.source_lines = true;
  return write(exporters::write_html, folder + "/crew.html", golden::make_crew(file), options);
}

// The same number of samples in half the time, and twice as often.
golden::Golden make_other_rate() {
  golden::Golden both = golden::make_workers_comparison();
  both.recording.processes[golden::kFirstBaseProcess].interval /= 2;
  return both;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  const exporters::Options samples{profile::Weight::kSamples};
  const bool written =
      write(exporters::write_perf, folder + "/golden.perf") &&
      write(exporters::write_pprof, folder + "/golden.pb.gz", golden::make_golden(), samples) &&
      write(exporters::write_collapsed, folder + "/golden.collapsed") &&
      write(exporters::write_speedscope, folder + "/golden.speedscope.json") &&
      write(exporters::write_firefox, folder + "/golden.firefox.json.gz") &&
      write(exporters::write_html, folder + "/golden.html") &&
      write(exporters::write_html, folder + "/mixed.html", golden::make_mixed_golden()) &&
      write(exporters::write_html, folder + "/workers.html", golden::make_workers()) &&
      write(exporters::write_html, folder + "/bursts.html", golden::make_bursts()) &&
      write(exporters::write_html, folder + "/deadlock.html", golden::make_deadlock()) &&
      write(exporters::write_overview, folder + "/deadlock_overview.html",
            golden::make_deadlock()) &&
      write(exporters::write_overview, folder + "/overview.html", golden::make_workers()) &&
      write(exporters::write_html, folder + "/hostile.html", make_hostile()) && write_crew(folder);
  exporters::Options comparing = samples;
  comparing.first_base_process = golden::kFirstBaseProcess;
  const golden::Golden both = golden::make_comparison();
  const bool compared =
      write(exporters::write_pprof, folder + "/difference.pb.gz", both, comparing) &&
      write(exporters::write_html, folder + "/difference.html", both, comparing) &&
      write(exporters::write_html, folder + "/lengths.html", golden::make_workers_comparison(),
            comparing) &&
      write(exporters::write_html, folder + "/rates.html", make_other_rate(), comparing);
  return written && compared ? 0 : 1;
}
