#include "cli/fleet/applications.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <vector>

namespace swipr::fleet {

namespace {

using Arguments = std::span<const std::string>;
using Words = std::initializer_list<std::string_view>;

constexpr std::size_t kMaxNameBytes = 256;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_one_of(std::string_view word, Words words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "python3.11" for "python".
bool is_version_of(std::string_view name, std::string_view program) {
  return name.starts_with(program) &&
         name.find_first_not_of("0123456789.-", program.size()) == std::string_view::npos;
}

bool is_option(std::string_view argument) { return argument.starts_with('-'); }

// The value of "--NAME VALUE", "--NAME=VALUE" or "-N VALUE".
std::optional<std::string> value_of(Arguments arguments, Words names) {
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string_view argument = arguments[index];
    for (const std::string_view name : names) {
      if (argument == name && index + 1 < arguments.size()) return arguments[index + 1];
      if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
        return std::string(argument.substr(name.size() + 1));
      }
    }
  }
  return std::nullopt;
}

// The first word that is neither an option nor the value of one of `with_value`.
std::size_t first_word(Arguments arguments, Words with_value) {
  std::size_t index = 0;
  while (index < arguments.size() && is_option(arguments[index])) {
    index += is_one_of(arguments[index], with_value) ? 2 : 1;
  }
  return std::min(index, arguments.size());
}

Application named(std::string_view kind, std::string_view name) {
  return {std::string(kind), std::string(name.substr(0, kMaxNameBytes))};
}

// "package.module:object", not "host:80".
bool is_object_of_module(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == word.size()) return false;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '(' ||
           c == ')';
  };
  const std::string_view object = word.substr(colon + 1);
  const bool is_port = object.find_first_not_of("0123456789") == std::string_view::npos;
  return !is_port && word.find(':', colon + 1) == std::string_view::npos &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(colon), is_name) &&
         std::all_of(object.begin(), object.end(), is_name);
}

// gunicorn and uvicorn: the application is usually the first or the last word.
std::optional<std::string> served_object(Arguments arguments) {
  const auto found = std::find_if(arguments.begin(), arguments.end(), [](const std::string& word) {
    return is_object_of_module(word);
  });
  if (found != arguments.end()) return *found;
  if (arguments.empty() || is_option(arguments.back())) return std::nullopt;
  return arguments.back();
}

// Servers that are scripts of Python.
std::optional<Application> python_server(std::string_view program, Arguments arguments) {
  if (program == "gunicorn" || program == "uvicorn" || program == "hypercorn") {
    return named(program, served_object(arguments).value_or("unknown"));
  }
  if (program == "celery") {
    return named(program, value_of(arguments, {"-A", "--app"}).value_or("unknown"));
  }
  if (program != "uwsgi") return std::nullopt;
  auto name = value_of(arguments, {"-w", "--module", "--wsgi", "--wsgi-file", "--file", "--ini"});
  return named(program, name.value_or("unknown"));
}

Application python(Arguments arguments) {
  const std::size_t module = first_word(arguments, {"-W", "-X", "--check-hash-based-pycs", "-m"});
  // "-m MODULE" ends the options of the interpreter.
  const auto flag = std::find(arguments.begin(), arguments.end(), "-m");
  const auto at = static_cast<std::size_t>(flag - arguments.begin());
  if (at + 1 < arguments.size() && at < module) {
    const std::string& name = arguments[at + 1];
    auto server = python_server(name, arguments.subspan(at + 2));
    return server ? *std::move(server) : named("python", "-m " + name);
  }
  if (std::find(arguments.begin(), arguments.end(), "-c") <
      arguments.begin() + static_cast<std::ptrdiff_t>(module)) {
    return named("python", "-c");
  }
  if (module == arguments.size()) return named("python", "-");
  auto server = python_server(base_name(arguments[module]), arguments.subspan(module + 1));
  return server ? *std::move(server) : named("python", arguments[module]);
}

std::optional<Application> spark(std::string_view main_class, Arguments arguments, Arguments rest) {
  if (auto name = value_of(arguments, {"-Dspark.app.name"})) return named("spark", *name);
  if (!main_class.starts_with("org.apache.spark.")) return std::nullopt;
  auto name = value_of(rest, {"--name", "--class", "--app-id"});
  return named("spark", name.value_or(std::string(main_class)));
}

// The main class, or what follows the jar or module: the options of the machine end there.
std::size_t first_java_word(Arguments arguments) {
  const Words kWithValue = {"-cp",           "-classpath",    "--class-path", "-p",
                            "--module-path", "--add-modules", "--add-opens",  "--add-exports",
                            "--add-reads",   "-jar",          "-m",           "--module"};
  const std::size_t word = first_word(arguments, kWithValue);
  for (std::size_t index = 0; index < word; ++index) {
    if (is_one_of(arguments[index], {"-jar", "-m", "--module"})) return std::min(index + 2, word);
  }
  return word;
}

Application java(Arguments arguments) {
  const std::size_t word = first_java_word(arguments);
  const Arguments own = arguments.first(word);
  if (auto jar = value_of(own, {"-jar"})) {
    auto found = spark(base_name(*jar), own, arguments.subspan(word));
    return found ? *std::move(found) : named("java", *jar);
  }
  if (auto module = value_of(own, {"-m", "--module"})) return named("java", *module);
  if (word == arguments.size()) return named("java", "unknown");
  auto found = spark(arguments[word], own, arguments.subspan(word + 1));
  return found ? *std::move(found) : named("java", arguments[word]);
}

Application script(std::string_view kind, Arguments arguments, Words with_value, Words code) {
  const std::size_t word = first_word(arguments, with_value);
  for (const std::string& argument : arguments.first(word)) {
    if (is_one_of(argument, code)) return named(kind, argument);
  }
  return named(kind, word < arguments.size() ? std::string_view(arguments[word]) : "-");
}

Application php(Arguments arguments) {
  if (auto file = value_of(arguments, {"-f", "--file"})) return named("php", *file);
  return script("php", arguments, {"-c", "-d", "-z", "-t", "-S", "-f"}, {"-r"});
}

// What R itself is started with, by Rscript too.
Application r(Arguments arguments) {
  if (auto file = value_of(arguments, {"-f", "--file"})) return named("r", *file);
  const bool is_text = std::find(arguments.begin(), arguments.end(), "-e") != arguments.end();
  return named("r", is_text ? "-e" : "-");
}

// Titles that servers give to their processes: "gunicorn: worker [shop.wsgi:app]",
// "puma 5.6.5 (tcp://…) [shop]", "php-fpm: pool www".
std::optional<Application> titled(std::string_view title) {
  constexpr std::string_view kPool = "php-fpm: pool ";
  if (title.starts_with(kPool)) return named("php-fpm", title.substr(kPool.size()));
  for (const std::string_view kind : {"gunicorn: ", "puma ", "puma: "}) {
    const std::size_t open = title.rfind('[');
    const std::size_t close = title.rfind(']');
    if (!title.starts_with(kind) || open == std::string_view::npos || close < open) continue;
    return named(kind.substr(0, kind.find_first_of(": ")),
                 title.substr(open + 1, close - open - 1));
  }
  return std::nullopt;
}

class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : is_valid_(::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (is_valid_) ::regfree(&compiled_);
  }
  bool is_valid() const { return is_valid_; }
  bool is_in(const std::string& text) const {
    return is_valid_ && ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool is_valid_;
};

}  // namespace

bool is_valid_pattern(const std::string& pattern) { return Pattern(pattern).is_valid(); }

std::string matching_options(Arguments command_line, Arguments patterns) {
  if (command_line.empty() || patterns.empty()) return {};
  const Arguments arguments = command_line.subspan(1);
  std::vector<bool> is_wanted(first_java_word(arguments));
  for (const std::string& text : patterns) {
    const Pattern pattern(text);
    for (std::size_t index = 0; index < is_wanted.size(); ++index) {
      is_wanted[index] = is_wanted[index] || pattern.is_in(arguments[index]);
    }
  }
  std::string matching;
  for (std::size_t index = 0; index < is_wanted.size(); ++index) {
    if (!is_wanted[index]) continue;
    if (!matching.empty()) matching += ' ';
    matching += std::string_view(arguments[index]).substr(0, kMaxNameBytes);
  }
  return matching;
}

Application find_application(Arguments command_line, std::string_view executable) {
  if (command_line.empty()) return named("native", executable);
  if (auto found = titled(command_line.front())) return *std::move(found);
  const Arguments arguments = command_line.subspan(1);
  const std::string_view program = base_name(command_line.front());
  if (is_version_of(program, "python") || is_version_of(program, "pypy")) return python(arguments);
  if (auto server = python_server(program, arguments)) return *std::move(server);
  if (program == "java") return java(arguments);
  if (program == "node" || program == "nodejs") {
    return script("nodejs", arguments, {"-r", "--require", "--import", "--loader", "-C"},
                  {"-e", "--eval", "-p", "--print"});
  }
  if (is_version_of(program, "ruby")) {
    return script("ruby", arguments, {"-I", "-r", "-C", "-E"}, {"-e"});
  }
  if (is_version_of(program, "php")) return php(arguments);
  if (program == "R") return r(arguments);
  if (is_version_of(program, "lua")) return script("lua", arguments, {"-l"}, {"-e"});
  if (is_version_of(program, "perl")) return script("perl", arguments, {"-I"}, {"-e", "-E"});
  return named("native", command_line.front());
}

}  // namespace swipr::fleet
