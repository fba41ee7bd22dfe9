// The text of systemd's unit files, as far as LD_PRELOAD is concerned. Pure.
// Source: systemd.exec(5) "Environment=", systemd.syntax(7), environment.d(5).
#pragma once

#include <string>
#include <string_view>

namespace swipr::commands {

// Whether it is a name of a service, with ".service" or without; templates have "@".
bool is_service_name(std::string_view name);

// LD_PRELOAD after the file `text`, if it was `before` until then: the [Service] section sets it,
// or empties all of the environment, or says nothing about it.
std::string preload_after(std::string_view text, std::string before);

// `libraries`, and `library` at their end unless it is among them by its file's name.
std::string joined_preload(std::string_view libraries, std::string_view library);

// A drop-in of a service, and a file of environment.d for all programs of a user. `libraries`: of
// LD_PRELOAD, with "%%" for "%". Both begin with a line by which is_ours() knows them.
std::string service_drop_in(std::string_view libraries);
std::string user_environment(std::string_view library);
bool is_ours(std::string_view text);

}  // namespace swipr::commands
