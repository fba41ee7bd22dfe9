#include "cli/export/text.h"

#include <fmt/format.h>

#include <array>

#include "cli/export/syscall_names.h"
#include "cli/profile/aggregate.h"

namespace swipr::exporters {

namespace {
bool is_continuation(std::string_view text, std::size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xC0) == 0x80;
}

// Length of the UTF-8 sequence at `index`; 0: none. Overlong forms and surrogates are none either.
// Source: Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view text, std::size_t index) {
  const auto first = static_cast<unsigned char>(text[index]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t next = 1; next < length; ++next) {
    if (!is_continuation(text, index + next)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[index + 1]);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}
}  // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = sequence_length(text, index);
    const auto byte = static_cast<unsigned char>(text[index]);
    if (length == 0) {
      clean += '?';
    } else if (byte < 0x20 || byte == 0x7F) {
      clean += ' ';
    } else {
      clean += text.substr(index, length);
    }
    index += length == 0 ? 1 : length;
  }
  return clean;
}

std::string recording_title(const profile::Recording& recording) {
  if (recording.processes.empty()) return "swipr";
  const profile::Process& first = recording.processes.front();
  const std::size_t more = recording.processes.size() - 1;
  return fmt::format("{} ({}){}", first.command_name, first.pid.value,
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string thread_name(const profile::Thread& thread) {
  if (thread.name.empty()) return fmt::format("thread {}", thread.tid.value);
  return clean_text(thread.name);
}

std::string_view weight_name(profile::Weight weight) {
  constexpr std::array<std::string_view, profile::kWeightCount> kNames = {"samples", "cpu", "wall",
                                                                          "blocked", "runqueue"};
  return kNames[profile::index_of(weight)];
}

std::string_view state_name(profile::State state) {
  switch (state) {
    case profile::State::kRunning:
      return "running";
    case profile::State::kRunnable:
      return "runnable";
    case profile::State::kBlocked:
      return "blocked";
    case profile::State::kUnknown:
      break;
  }
  return "unknown";
}

std::string syscall_text(std::uint32_t number) {
  if (number == profile::kNone) return "[unknown]";
  const std::string_view name = find_syscall_name(number);
  return name.empty() ? fmt::format("syscall {}", number) : std::string(name);
}

std::string state_frame(const profile::Recording& recording, profile::State state,
                        std::uint32_t stack) {
  if (state == profile::State::kRunnable) return "[runnable]";
  if (state != profile::State::kBlocked) return {};
  if (stack == profile::kNone) return "[blocked]";
  const std::uint32_t number = recording.stacks[stack].wait_syscall;
  if (number == profile::kNone) return "[blocked]";
  return fmt::format("[{}]", syscall_text(number));
}

}  // namespace swipr::exporters
