#include "cli/commands/names/jit_frames.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cli/profile/recording/runtime_languages.h"
#include "common/host/proc.h"
#include "symbolize/files/process_files.h"

namespace swipr::commands {

namespace {

using symbolize::JitSymbols;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

// A root directory in which the files of a process may be.
struct Root {
  std::string path;
  std::optional<uid_t> user;  // uid of the process there; empty: unknown
};

// All users can write to /tmp, so a file is used only if it belongs to root or to this user.
// Root also uses files of the user of the process, who controls the program anyway.
bool is_trusted(uid_t owner, const Root& root) {
  return owner == 0 || owner == ::geteuid() || (::geteuid() == 0 && owner == root.user);
}

// Returns the file, truncated to a limit. Empty if there is no file or if it is not trusted,
// which is added to `notes`.
std::string read_file(int fd, const Root& root, const std::string& path,
                      std::vector<std::string>& notes) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (!is_trusted(status.st_uid, root)) {
    notes.push_back(
        fmt::format("{} is ignored: it is owned by user {}, not by the user of the process", path,
                    status.st_uid));
    return {};
  }
  std::string text(std::min(static_cast<std::size_t>(status.st_size), kMaxFileBytes), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(fd, text.data() + done, text.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

// The pid may have been reused, or belong to another program in another container.
bool runs(Pid pid, const std::string& executable) {
  char target[4096];
  const std::string link = fmt::format("/proc/{}/exe", pid.value);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == executable;
}

// Root directories that may contain the files of the process, most likely first.
std::vector<Root> find_roots(const profile::Process& process, const std::string& symfs) {
  if (!symfs.empty()) return {{symfs, process.user}};
  std::vector<Pid> candidates = symbolize::find_namesakes(process.pid.value);
  candidates.insert(candidates.begin(), process.pid);
  std::vector<Root> roots;
  for (const Pid pid : candidates) {
    if (!runs(pid, process.executable)) continue;
    // In a user namespace the uid of the process differs from the owner of its files here.
    const auto status = host::read_process_status(pid);
    if (status) roots.push_back({fmt::format("/proc/{}/root", pid.value), status->uid});
  }
  roots.push_back({"/", process.user});
  return roots;
}

std::string read_below(const std::vector<Root>& roots, const std::string& path,
                       std::vector<std::string>& notes) {
  for (const Root& root : roots) {
    const auto fd = symbolize::open_in_root(root.path, path);
    if (!fd) continue;
    if (std::string text = read_file(fd->value(), root, path, notes); !text.empty()) return text;
  }
  return {};
}

bool is_jitdump(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with("jit-") && path.ends_with(".dump");
}

// True for generated code: no known mapping, or a mapping without a file or of a memfd. Frames of
// language runtimes are no addresses.
bool is_generated(const profile::Recording& recording, const profile::Frame& frame) {
  if (is_runtime_frame(frame.pc.value)) return false;
  if (frame.module == profile::kNone) return true;
  const std::string_view path = recording.modules[frame.module].path;
  const bool is_anonymous = path.starts_with('[') && path != "[vdso]" && path != "[vsyscall]";
  return is_anonymous || path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         is_jitdump(path);
}

void add_files(const profile::Recording& recording, std::uint32_t process, const std::string& symfs,
               JitSymbols& symbols, std::vector<std::string>& notes) {
  const Pid pid = recording.processes[process].pid;
  const std::vector<Root> roots = find_roots(recording.processes[process], symfs);
  symbols.add_perf_map(read_below(roots, fmt::format("/tmp/perf-{}.map", pid.value), notes));
  std::set<std::string> dumps = {fmt::format("/tmp/jit-{}.dump", pid.value)};
  // Compilers map their dump, so that the recording contains its path.
  for (const profile::Module& module : recording.modules) {
    if (module.process == process && is_jitdump(module.path)) dumps.insert(module.path);
  }
  for (const std::string& dump : dumps) {
    const std::string bytes = read_below(roots, dump, notes);
    symbols.add_jitdump(std::as_bytes(std::span(bytes)));
  }
}

constexpr auto kAlways = std::chrono::nanoseconds::min();

void add_embedded(const profile::EmbeddedNames& names, std::vector<JitSymbols>& symbols) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::chrono::nanoseconds> gone;
  for (const profile::EmbeddedCodeGone& each : names.code_gone) {
    if (each.object != 0) gone[{each.process, each.object}] = each.valid_until;
  }
  for (const profile::EmbeddedCode& code : names.code) {
    JitSymbols::Code added{.begin = code.start,
                           .size = code.size_bytes,
                           .from = code.valid_from,
                           .name = code.name,
                           .lines = {},
                           .is_recorded = code.object != 0};
    if (code.valid_from.count() == 0) added.from = kAlways;
    const auto end = gone.find({code.process, code.object});
    if (end != gone.end()) added.until = end->second;
    for (const profile::EmbeddedLine& line : code.lines) {
      added.lines.push_back({line.offset, line.line, line.file});
    }
    symbols[code.process].add_code(added);
  }
}

// Processes whose generated code was symbolized while it was recorded.
std::set<std::uint32_t> looked_up(const std::vector<profile::EmbeddedCode>& all) {
  std::set<std::uint32_t> processes;
  for (const profile::EmbeddedCode& code : all) {
    if (code.object == 0) processes.insert(code.process);
  }
  return processes;
}

}  // namespace

// Assigns each sample the stack with the frames that were valid at its time.
struct JitFrames::Splitter {
  JitFrames& jit;
  profile::Recording& recording;
  std::vector<bool> generated;                                    // by frame of the recording
  std::map<std::uint32_t, std::vector<std::uint32_t>> originals;  // original frames of a stack
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> stacks;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> frames;

  void run() {
    for (profile::Sample& sample : recording.samples) {
      if (sample.stack != profile::kNone) sample.stack = stack_at(sample.stack, sample.time);
    }
  }

  std::optional<JitSymbols::Place> place_of(std::uint32_t frame, std::chrono::nanoseconds time) {
    const profile::Frame& entry = recording.frames[frame];
    const RuntimeAddr address{lookup_address(entry.pc.value, entry.kind)};
    const auto recorded_at = time - recording.processes[entry.process].moved_by;
    return jit.symbols_[entry.process].find(address, recorded_at);
  }

  std::uint32_t stack_at(std::uint32_t stack, std::chrono::nanoseconds time) {
    const auto known = originals.find(stack);
    const auto old_frames =
        known == originals.end() ? recording.stacks[stack].frames : known->second;
    std::vector<std::optional<JitSymbols::Place>> places(old_frames.size());
    std::vector<std::uint32_t> versions;
    for (std::size_t index = 0; index < old_frames.size(); ++index) {
      if (!generated[old_frames[index]]) continue;
      places[index] = place_of(old_frames[index], time);
      versions.push_back(places[index] ? places[index]->symbol : profile::kNone);
    }
    if (versions.empty()) return stack;
    const auto [entry, is_new] = stacks.try_emplace({stack, versions}, stack);
    if (!is_new) return entry->second;
    profile::Stack version = recording.stacks[stack];
    version.frames = old_frames;
    for (std::size_t index = 0; index < old_frames.size(); ++index) {
      if (generated[old_frames[index]]) {
        version.frames[index] = frame_at(old_frames[index], places[index]);
      }
    }
    if (known == originals.end()) {  // the first version replaces the original stack
      originals.emplace(stack, old_frames);
      recording.stacks[stack] = std::move(version);
    } else {
      entry->second = static_cast<std::uint32_t>(recording.stacks.size());
      recording.stacks.push_back(std::move(version));
    }
    return entry->second;
  }

  std::uint32_t frame_at(std::uint32_t frame, const std::optional<JitSymbols::Place>& place) {
    const std::uint32_t version = place ? place->symbol : profile::kNone;
    const auto any_version = frames.lower_bound({frame, 0});
    const bool is_first = any_version == frames.end() || any_version->first.first != frame;
    const auto [entry, is_new] = frames.try_emplace({frame, version}, frame);
    if (!is_new) return entry->second;
    if (!is_first) {
      entry->second = static_cast<std::uint32_t>(recording.frames.size());
      recording.frames.push_back(profile::Frame(recording.frames[frame]));
      jit.places_.emplace_back();
    }
    jit.places_[entry->second] = place;
    return entry->second;
  }
};

JitFrames::JitFrames(profile::Recording& recording, const std::string& symfs)
    : symbols_(recording.processes.size()),
      places_(recording.frames.size()),
      languages_(profile::runtime_languages(recording, profile::RuntimeFrames::kUnread)),
      recording_(&recording) {
  std::vector<bool> generated(recording.frames.size());
  std::set<std::uint32_t> processes;
  for (std::size_t frame = 0; frame < recording.frames.size(); ++frame) {
    generated[frame] = commands::is_generated(recording, recording.frames[frame]);
    if (generated[frame]) processes.insert(recording.frames[frame].process);
  }
  // For equal times the last one added is used: that of the process.
  const std::set<std::uint32_t> known = looked_up(recording.embedded.code);
  for (const std::uint32_t process : processes) {
    if (!known.contains(process)) add_files(recording, process, symfs, symbols_[process], notes_);
  }
  add_embedded(recording.embedded, symbols_);
  bool any = false;
  for (const std::uint32_t process : processes) {
    symbols_[process].finish();
    any = any || !symbols_[process].empty();
  }
  if (any) Splitter{*this, recording, std::move(generated), {}, {}, {}}.run();
}

bool JitFrames::is_generated(std::uint32_t frame) const {
  return commands::is_generated(*recording_, recording_->frames[frame]);
}

std::optional<JitFrames::Name> JitFrames::find(std::uint32_t frame) const {
  const auto& place = places_[frame];
  if (!place) return std::nullopt;
  const JitSymbols& symbols = symbols_[recording_->frames[frame].process];
  return Name{.function = symbols.name_of(place->symbol),
              .file = place->file,
              .line = place->line,
              .offset = place->offset,
              .language = languages_[recording_->frames[frame].process]};
}

std::vector<profile::EmbeddedCode> JitFrames::code() const {
  std::vector<std::set<RuntimeAddr>> addresses(symbols_.size());  // by process
  for (const profile::Frame& frame : recording_->frames) {
    if (symbols_[frame.process].empty() || !commands::is_generated(*recording_, frame)) continue;
    addresses[frame.process].insert(RuntimeAddr{lookup_address(frame.pc.value, frame.kind)});
  }
  std::vector<profile::EmbeddedCode> result;
  for (std::uint32_t process = 0; process < symbols_.size(); ++process) {
    const std::vector<RuntimeAddr> wanted(addresses[process].begin(), addresses[process].end());
    for (const JitSymbols::Code& code : symbols_[process].code_at(wanted)) {
      if (code.is_recorded) continue;
      profile::EmbeddedCode& entry = result.emplace_back();
      entry.process = process;
      entry.start = code.begin;
      entry.size_bytes = code.size;
      if (code.from != kAlways) entry.valid_from = code.from;
      entry.name = code.name;
      for (const JitSymbols::CodeLine& line : code.lines) {
        entry.lines.push_back({line.offset, line.line, std::string(line.file)});
      }
    }
  }
  return result;
}

}  // namespace swipr::commands
