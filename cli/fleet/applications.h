// Which application a process is, from its command line: of an interpreter the script, not the
// interpreter. Pure. The command line is untrusted.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace swipr::fleet {

struct Application {
  // "python", "gunicorn", "uvicorn", "uwsgi", "celery", "java", "spark", "nodejs", "ruby", "puma",
  // "php", "php-fpm", "perl", "r", "lua", "native".
  std::string kind;
  std::string name;  // "shop.wsgi:app", "worker.py", "app.jar"; of a native program its argv[0]
  // "gunicorn: shop.wsgi:app"
  std::string text() const { return kind + ": " + name; }
};

// `executable`: path of the program's file; empty: unknown. Only the word that names the
// application is taken, because other arguments can be secret.
// Bounds: the name has at most 256 bytes.
Application find_application(std::span<const std::string> command_line,
                             std::string_view executable);

// The options of a Java machine in which one of the patterns (extended regular expressions) is
// found, separated by blanks. Invalid patterns are found nowhere.
std::string matching_options(std::span<const std::string> command_line,
                             std::span<const std::string> patterns);
bool is_valid_pattern(const std::string& pattern);

}  // namespace swipr::fleet
