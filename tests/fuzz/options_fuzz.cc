// Any command line, one argument per line: it is parsed, answered or refused with a reason, and
// parsed options satisfy the contract of options.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/parse.h"

using namespace swipr;

namespace {

// argv ends with a null pointer and contains no other NUL.
std::vector<std::string> split_lines(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      lines.emplace_back();
    } else if (data[i] != 0) {
      lines.back().push_back(static_cast<char>(data[i]));
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

void expect(bool holds) {
  if (!holds) std::abort();
}

void check(const options::RecordOptions& record) {
  expect(int{record.pid.has_value()} + int{!record.name.empty()} + int{!record.command.empty()} ==
         1);
  expect(!record.pid || record.pid->value > 0);
  expect(record.interval >= options::kMinInterval && record.interval <= options::kMaxInterval);
  expect(record.duration.count() >= 0);
}
void check(const options::ConvertOptions& convert) {
  expect(!convert.inputs.empty() && convert.format != options::Format::kRaw);
}
void check(const options::ReportOptions& report) { expect(!report.inputs.empty()); }
void check(const options::ViewOptions& view) {
  expect(!view.inputs.empty() || view.pid.has_value());
  expect(view.duration.count() > 0);
}
void check(const auto&) {}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> lines = split_lines(data, size);
  std::vector<const char*> arguments;
  for (const std::string& line : lines) arguments.push_back(line.c_str());
  const options::ParseResult parsed = options::parse_command_line(arguments);
  if (const auto* wrong = std::get_if<options::UsageError>(&parsed)) {
    expect(!wrong->message.empty() && wrong->message.find('\n') == std::string::npos);
  } else if (const auto* command = std::get_if<options::Command>(&parsed)) {
    std::visit([](const auto& chosen) { check(chosen); }, *command);
  }
  return 0;
}
