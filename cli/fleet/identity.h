// Under which name and labels the profiles of a process are stored. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/fleet/applications.h"
#include "cli/fleet/containers.h"

namespace swipr::fleet {

struct ProcessFacts {
  std::string_view command_name, executable;
  std::span<const std::string> command_line;
  std::span<const std::string> argument_filters;  // extended regular expressions
  std::string_view cgroup, mountinfo;             // texts of /proc/PID; empty: unknown
  std::string service, version;                   // that the process was given; empty: none
  std::string_view labels;                        // NAME=VALUE,NAME=VALUE that it was given
  ContainerNames container;
};

struct Identity {
  std::string service;
  std::string container;    // empty: none
  std::string application;  // "gunicorn: shop.wsgi:app", "native: ./a.out (/srv/a.out)"
  // Labels of its series, without the service. No id of a process or thread, so that processes
  // with equal labels become one profile.
  std::vector<std::pair<std::string, std::string>> labels;
};

// `service`: given on the command line, for all; empty: that of the process, else its container,
// systemd unit, application (if it is a script or a class) or executable, in this order.
Identity identify(const ProcessFacts& facts, std::string_view service);

}  // namespace swipr::fleet
