#include "cli/commands/record_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/commands/embed_names.h"
#include "cli/commands/export_recording.h"
#include "cli/commands/symbolize_recording.h"

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

// The raw bytes of a conversion lie beside their result, where there is room for a file.
std::string make_raw_name(const std::string& output) {
  const std::string own = fmt::format("{}.swipr", ::getpid());
  if (!is_special(output)) return fmt::format("{}.{}", output, own);
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/swipr-{}", folder == nullptr || *folder == '\0' ? "/tmp" : folder, own);
}

}  // namespace

std::string make_file_name(std::string_view program, Pid pid, const std::tm& time,
                           std::string_view suffix) {
  std::string name(program.empty() ? "recording" : program);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; }, '_');
  if (name.starts_with('-') || name.starts_with('.')) name.insert(0, 1, '_');
  return fmt::format("{}-{}-{:04}{:02}{:02}-{:02}{:02}{:02}{}", name, pid.value,
                     time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min,
                     time.tm_sec, suffix);
}

RecordOutput::RecordOutput(RecordingFile raw, std::string raw_name, std::string name,
                           std::optional<OutputFile> converted)
    : raw_(std::move(raw)),
      raw_name_(std::move(raw_name)),
      name_(std::move(name)),
      converted_(std::move(converted)) {}

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
  std::string raw_name = is_raw ? name : make_raw_name(name);
  auto raw = RecordingFile::open(raw_name);
  if (!raw) return raw.error();
  if (options.embeds_symbols && !raw->is_regular()) {
    return host::Error(fmt::format(
        "{} is no ordinary file: --embed-symbols cannot read again what it has written there",
        raw_name));
  }
  return RecordOutput(*std::move(raw), std::move(raw_name), name, std::move(converted));
}

Result<void> RecordOutput::embed_names(std::vector<std::string>& notes) {
  auto recording = load_recording_for(options::Format::kRaw, raw_name_);
  if (!recording) return recording.error();
  const auto names = names_to_embed(*recording, notes);
  auto done = write_names(names, *recording, raw_);
  if (!done) {
    return host::Error(fmt::format("{}; the recording itself is in {}, without names",
                                   done.error().message(), raw_name_));
  }
  notes.push_back(fmt::format("names of {} addresses are in the recording",
                              names.addresses.size() + names.code.size()));
  return {};
}

Result<void> RecordOutput::finish(options::Format format, std::vector<std::string>& notes) {
  if (auto closed = raw_.close(); !closed || !converted_) return closed;
  auto recording = load_recording_for(format, raw_name_);
  if (!recording) return recording.error();
  notes = recording->warnings;
  ExportOptions writing;
  writing.format = format;
  auto done = export_recording(*recording, writing, converted_->fd(), converted_->name(), notes);
  if (done) done = converted_->commit();
  if (!done) {
    return host::Error(
        fmt::format("{}; the recording itself is in {}", done.error().message(), raw_name_));
  }
  ::unlink(raw_name_.c_str());
  return {};
}

}  // namespace swipr::commands
