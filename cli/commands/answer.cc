#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/commands/output/export_recording.h"
#include "cli/export/text/sink.h"
#include "common/host/unique_fd.h"
#include "common/host/unnamed_file.h"

namespace swipr::commands {

namespace {

using host::Result;

// The name comes from the agent. It must not end the header line or the quoted string.
std::string quotable(std::string_view name) {
  std::string text(name);
  std::erase_if(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"' || c == '\\';
  });
  return text;
}

std::string success_header(const options::AnswerOptions& options, off_t body_bytes) {
  const bool binary = options.format == options::Format::kPprof;
  std::string header = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
      binary ? "application/octet-stream" : "text/plain; charset=utf-8", body_bytes);
  if (const std::string name = quotable(options.disposition); !name.empty()) {
    header += fmt::format("Content-Disposition: attachment; filename=\"{}\"\r\n", name);
  }
  return header + "\r\n";
}

// The body is complete before the first byte of the answer is sent, because a later failure
// could not be reported to the client.
Result<host::UniqueFd> make_body(options::Format format) {
  host::UniqueFd body = host::make_unnamed_file("swipr-answer");
  if (!body) return host::system_error("cannot buffer the answer", errno);
  auto recording = load_recording_for(format, STDIN_FILENO, "standard input");
  if (!recording) return recording.error();
  ExportOptions writing;
  writing.format = format;
  writing.symbols.cache = false;   // the program's user did not ask for files in the home directory
  std::vector<std::string> notes;  // discarded
  auto done = export_recording(*recording, writing, body.value(), "the answer", notes);
  if (!done) return done.error();
  return body;
}

Result<void> send_body(exporters::Sink& out, int body) {
  std::array<char, 65536> buffer{};
  for (off_t offset = 0; !out.failed();) {
    const ssize_t count = ::pread(body, buffer.data(), buffer.size(), offset);
    if (count <= 0) break;
    out.write({buffer.data(), static_cast<std::size_t>(count)});
    offset += count;
  }
  return out.flush();
}

}  // namespace

Outcome run_answer(const options::AnswerOptions& options) {
  exporters::Sink out(STDOUT_FILENO, "the client's connection");
  const auto body = make_body(options.format);
  struct stat info {};
  if (body && ::fstat(body->value(), &info) == 0) {
    out.write(success_header(options, info.st_size));
    if (auto sent = send_body(out, body->value()); !sent) return sent.error();
    return kDone;
  }
  std::string line = body ? "cannot buffer the answer" : body.error().message();
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  out.write(fmt::format(
      "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      line.size(), line));
  if (auto sent = out.flush(); !sent) return sent.error();
  return Failure{line.substr(0, line.size() - 1)};
}

}  // namespace swipr::commands
