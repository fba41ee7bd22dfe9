#include "cli/commands/record/record_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/commands/names/embed_names.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/terminal.h"
#include "common/host/secret.h"
#include "common/host/temporary_folder.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {

using host::Result;
using session::RecordingFile;

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_special(const std::string& path) {
  struct stat info {};
  return path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
}

// The raw bytes are stored in the folder of the converted file, which has room for it.
std::string raw_folder(const std::string& output) {
  if (is_special(output)) return host::temporary_place();
  const std::size_t slash = output.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : output.substr(0, slash);
}

Result<RecordingFile> create_temporary(const std::string& output) {
  auto beside = RecordingFile::create_temporary(raw_folder(output));
  return beside ? std::move(beside) : RecordingFile::create_temporary(host::temporary_place());
}

}  // namespace

std::string make_file_name(std::string_view program, Pid pid, const std::tm& time,
                           std::string_view suffix) {
  std::string name = host::clean_text(program.empty() ? "recording" : program);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == ' ' || c == '\\' || c == '?'; }, '_');
  if (name.starts_with('-') || name.starts_with('.')) name.insert(0, 1, '_');
  return fmt::format("{}-{}-{:04}{:02}{:02}-{:02}{:02}{:02}{}", name, pid.value,
                     time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min,
                     time.tm_sec, suffix);
}

RecordOutput::RecordOutput(RecordingFile raw, std::string name, std::optional<OutputFile> converted)
    : raw_(std::move(raw)), name_(std::move(name)), converted_(std::move(converted)) {}

std::string make_free_name(std::string_view program, Pid pid, std::string_view suffix) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::string name = make_file_name(program, pid, local, suffix);
  for (int number = 2; exists(name) && number < 1000; ++number) {
    name = make_file_name(program, pid, local, fmt::format("-{}{}", number, suffix));
  }
  return name;
}

Result<RecordOutput> RecordOutput::open(const options::RecordOptions& options,
                                        std::string_view program, Pid pid) {
  const bool is_raw = options.format == options::Format::kRaw;
  const std::string name = options.output.empty()
                               ? make_free_name(program, pid, file_suffix(options.format))
                               : options.output;
  std::optional<OutputFile> converted;
  if (!is_raw) {
    auto file = OutputFile::create(name);
    if (!file) return file.error();
    converted.emplace(*std::move(file));
  }
  auto raw = is_raw ? RecordingFile::open(name) : create_temporary(name);
  if (!raw) return raw.error();
  if (options.embeds_symbols && !raw->is_regular()) {
    return host::Error(fmt::format(
        "{} is not a regular file: --embed-symbols must read back what it has written", name));
  }
  return RecordOutput(*std::move(raw), name, std::move(converted));
}

std::string RecordOutput::keep_raw() {
  if (raw_.empty() || (name_ == "-" && !converted_)) return {};
  std::string path = name_;
  if (converted_) {
    const auto secret = host::make_secret();
    if (!secret) return {};
    path = is_special(name_) ? host::temporary_place() + "/swipr" : name_;
    path += fmt::format(".{}.swipr", secret->substr(0, 8));
    if (auto kept = raw_.keep_as(path); !kept) {
      return fmt::format("; the recording is lost: {}", kept.error().message());
    }
  }
  return fmt::format("; the {} bytes recorded until then are in {}", with_thousands(raw_.bytes()),
                     path);
}

Result<void> RecordOutput::embed_names(std::vector<std::string>& notes) {
  auto recording = load_recording(name_);
  if (!recording) return recording.error();
  profile::credit_cpu(*recording);
  const auto names = names_to_embed(*recording, notes);
  auto done = write_names(names, *recording, raw_);
  if (!done) {
    return host::Error(fmt::format("{}; the recording itself is in {}, without names",
                                   done.error().message(), name_));
  }
  notes.push_back(fmt::format("stored the names of {} addresses in the recording",
                              names.addresses.size() + names.code.size()));
  return {};
}

Result<void> RecordOutput::finish(options::Format format, std::vector<std::string>& notes) {
  if (!converted_) return raw_.close();
  auto done = convert(format, notes);
  if (done) done = raw_.close();
  if (!done) return host::Error(done.error().message() + keep_raw());
  return done;
}

Result<void> RecordOutput::convert(options::Format format, std::vector<std::string>& notes) {
  auto recording = load_recording_for(format, raw_.rewind(), raw_.name());
  if (!recording) return recording.error();
  notes = recording->warnings;
  ExportOptions writing;
  writing.format = format;
  auto done = export_recording(*recording, writing, converted_->fd(), converted_->name(), notes);
  return done ? converted_->commit() : done;
}

}  // namespace swipr::commands
