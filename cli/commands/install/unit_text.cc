#include "cli/commands/install/unit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/core/ascii_text.h"

namespace swipr::commands {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kVariable = "LD_PRELOAD=";
constexpr std::string_view kOurs = "# Written by swipr install-preload";
// A unit name has at most 255 bytes, with ".service.d".
constexpr std::size_t kMostNameBytes = 240;

// Takes the next line, joined with those that it is continued in.
std::optional<std::string> next_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  std::string line;
  for (bool continues = true; continues && !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    continues = part.ends_with('\\');
    if (continues) part.remove_suffix(1);
    line += part;
    if (continues) line += ' ';
  }
  return line;
}

// Takes the next word, without its quotes. Of escapes, only those of quotes and blanks are read.
std::optional<std::string> next_word(std::string_view& text) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  std::string word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char byte = text[at];
    if (quote == 0 && kBlanks.find(byte) != std::string_view::npos) break;
    if (byte == '\\' && at + 1 < text.size()) {
      word += text[++at];
    } else if (quote != 0 ? byte == quote : byte == '"' || byte == '\'') {
      quote = quote != 0 ? '\0' : byte;
    } else {
      word += byte;
    }
  }
  text.remove_prefix(at);
  return word;
}

// As a word of "Environment=".
std::string as_word(std::string_view text) {
  std::string word = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') word += '\\';
    word += byte;
  }
  return word + '"';
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool is_service_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
  return !name.empty() && name.size() <= kMostNameBytes && name.front() != '.' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string preload_after(std::string_view text, std::string before) {
  std::string setting = std::move(before);
  bool is_in_service = false;
  while (const auto whole = next_line(text)) {
    const std::string_view line = trimmed(*whole);
    if (line.starts_with('[')) is_in_service = line == "[Service]";
    const std::size_t equals = line.find('=');
    if (!is_in_service || equals == std::string_view::npos ||
        trimmed(line.substr(0, equals)) != "Environment") {
      continue;
    }
    std::string_view words = trimmed(line.substr(equals + 1));
    if (words.empty()) setting.clear();
    while (const auto word = next_word(words)) {
      if (word->starts_with(kVariable)) setting = word->substr(kVariable.size());
    }
  }
  return setting;
}

std::string joined_preload(std::string_view libraries, std::string_view library) {
  std::string_view rest = libraries;
  while (!rest.empty()) {  // ld.so(8): separated by blanks or colons
    const std::size_t end = std::min(rest.find_first_of(" :"), rest.size());
    if (file_name(rest.substr(0, end)) == file_name(library)) return std::string(libraries);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return fmt::format("{}{}{}", libraries, libraries.empty() ? "" : ":", library);
}

std::string service_drop_in(std::string_view libraries) {
  return fmt::format(
      "{}\n"
      "[Service]\n"
      "Environment={} SWIPR_SOCKET_DIR=/run/swipr/{{UID}}\n"
      "# With a private /tmp or a strict file system the folder of sockets is still the shared "
      "one.\n"
      "ReadWritePaths=-/run/swipr\n",
      kOurs, as_word(fmt::format("{}{}", kVariable, libraries)));
}

std::string user_environment(std::string_view library) {
  return fmt::format("{}\nLD_PRELOAD=${{LD_PRELOAD:+$LD_PRELOAD:}}{}\n", kOurs, library);
}

bool is_ours(std::string_view text) { return text.starts_with(kOurs); }

}  // namespace swipr::commands
