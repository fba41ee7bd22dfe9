#include "cli/commands/explain.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "cli/commands/output/filters.h"
#include "cli/commands/output/output_file.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {

std::string_view kind_of(const symbolize::Symbolizer::Sources& sources) {
  if (sources.dwarf) return "DWARF (functions, inlined functions, lines)";
  if (sources.go_table) return "table of Go's runtime (functions, lines; no inlined functions)";
  if (sources.symbol_table) return "symbol table (functions; no inlined functions, no lines)";
  if (sources.dynamic_table) return "exported symbols only (most functions have no name)";
  return "none";
}

// Modules with these prefixes have no file to read names from.
bool is_generated(const profile::Module& module) {
  return module.path.starts_with('[') || module.path.starts_with("/memfd:") ||
         module.path.starts_with("/dev/zero");
}

// Names of Debian's debug packages; the one of libc is an exception.
std::string debug_package(std::string_view package) {
  return fmt::format("{}{}", package, package == "libc6" ? "-dbg" : "-dbgsym");
}

std::string advice_for(const profile::Module& module, const ModuleExplanation& explanation,
                       std::string_view package) {
  if (is_generated(module)) {
    return explanation.named == explanation.addresses
               ? std::string()
               : "  to do      have its compiler write /tmp/perf-PID.map (node "
                 "--perf-basic-prof)\n";
  }
  if (explanation.embedded == explanation.addresses) return {};
  if (explanation.sources.file.empty()) {
    return "  to do      put the recorded file back, or use --symfs ROOT with one that has it\n";
  }
  if (explanation.sources.dwarf || module.path == "[vdso]") return {};
  if (module.build_id.size() <= 2) {
    return "  to do      build it with -g, and with -Wl,--build-id so that its debug file is "
           "found\n";
  }
  const std::string place = fmt::format("/usr/lib/debug/.build-id/{}/{}.debug",
                                        module.build_id.substr(0, 2), module.build_id.substr(2));
  if (!package.empty()) {
    return fmt::format(
        "  to do      install {}, or set DEBUGINFOD_URLS=https://debuginfod.debian.net\n"
        "             (missing: {})\n",
        debug_package(package), place);
  }
  return fmt::format(
      "  to do      build it with -g, or install its debug file as\n"
      "             {}\n"
      "             or below a --debug-dir, or set DEBUGINFOD_URLS\n",
      place);
}

bool lists(const std::filesystem::path& list, std::string_view line) {
  std::ifstream input(list, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) {
    const std::size_t end = at + line.size();
    if ((at == 0 || text[at - 1] == '\n') && (end == text.size() || text[end] == '\n')) return true;
  }
  return false;
}

struct Explained {
  const profile::Module* module;
  ModuleExplanation explanation;
};

// Modules with recorded addresses, in the order of the recording. All mappings of one file, in
// all processes, are one entry.
std::vector<Explained> each_file_once(profile::Recording& recording,
                                      const options::SymbolOptions& symbols) {
  std::vector<ModuleExplanation> all = explain_names(recording, symbols);
  std::vector<Explained> files;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> known;
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (all[index].addresses == 0) continue;
    const profile::Module& module = recording.modules[index];
    const auto [place, is_new] = known.try_emplace({module.path, module.build_id}, files.size());
    if (is_new) {
      files.push_back({&module, std::move(all[index])});
      continue;
    }
    ModuleExplanation& sum = files[place->second].explanation;
    sum.addresses += all[index].addresses;
    sum.embedded += all[index].embedded;
    sum.named += all[index].named;
    sum.with_lines += all[index].with_lines;
  }
  return files;
}

}  // namespace

std::string explain_module(const profile::Module& module, const ModuleExplanation& explanation,
                           std::string_view package) {
  const symbolize::Symbolizer::Sources& sources = explanation.sources;
  std::string text = fmt::format("{}\n  build-id   {}\n", host::clean_text(module.path),
                                 module.build_id.empty() ? "none" : module.build_id);
  if (explanation.embedded == explanation.addresses) {
    text += "  names from the recording\n";
  } else if (!is_generated(module) || !sources.file.empty()) {
    text += fmt::format("  file       {}\n",
                        sources.file.empty() ? "not found" : host::clean_text(sources.file));
    if (!sources.debug_file.empty())
      text += fmt::format("  debug file {}\n", host::clean_text(sources.debug_file));
    text += fmt::format("  names from {}\n", kind_of(sources));
  }
  text += fmt::format("  addresses  {}, {} with a name, {} with a line\n", explanation.addresses,
                      explanation.named, explanation.with_lines);
  if (!explanation.note.empty() && !is_generated(module)) {
    text += fmt::format("  problem    {}\n", host::clean_text(explanation.note));
  }
  return text + advice_for(module, explanation, package);
}

std::string find_package(const std::string& folder, std::string_view path) {
  // /lib is a link to /usr/lib: a package may list its files below either.
  const std::string_view without_usr = path.starts_with("/usr/") ? path.substr(4) : path;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::filesystem::path& list = entry->path();
    if (list.extension() != ".list") continue;
    if (!lists(list, path) && !lists(list, without_usr)) continue;
    const std::string package = list.stem();
    return package.substr(0, package.find(':'));
  }
  return {};
}

Outcome run_explain(const options::ConvertOptions& options) {
  auto output = OutputFile::create(options.output);
  if (!output) return output.error();
  auto inputs = load_inputs(options.inputs, {}, options.filters, Credit::kNo);
  if (!inputs) return inputs.error();
  profile::Recording& recording = inputs->recording;
  exporters::Sink sink(output->fd(), output->name());
  for (const auto& [module, explanation] : each_file_once(recording, options.symbols)) {
    const bool wants_package = !explanation.sources.dwarf && !is_generated(*module);
    const std::string package =
        wants_package ? find_package("/var/lib/dpkg/info", module->path) : std::string();
    sink.write(explain_module(*module, explanation, package) + "\n");
  }
  auto written = sink.flush();
  if (written) written = output->commit();
  if (!written) return written.error();
  print_notes(recording.warnings);
  return kDone;
}

}  // namespace swipr::commands
