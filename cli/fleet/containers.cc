#include "cli/fleet/containers.h"

#include <fmt/format.h>

#include <algorithm>

namespace swipr::fleet {

namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kShortIdDigits = 12;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Calls `use` with each part of `text` until it returns true.
template <typename Use>
bool any_part(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (use(text.substr(0, end))) return true;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

// "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID", "libpod-ID.scope", "ID".
std::string_view id_of_component(std::string_view component) {
  if (component.ends_with(".scope")) component.remove_suffix(6);
  const std::size_t dash = component.rfind('-');
  if (dash != std::string_view::npos) component.remove_prefix(dash + 1);
  return component.size() == kIdDigits && is_hex(component) ? component : std::string_view();
}

// "/ecs/TASK/TASK-NUMBER" on Fargate: 32 digits and a number.
std::string_view id_of_ecs(std::string_view path) {
  if (path.find("/ecs/") == std::string_view::npos) return {};
  const std::string_view last = path.substr(path.rfind('/') + 1);
  const std::size_t dash = last.find('-');
  return dash == 32 && is_hex(last.substr(0, dash)) ? last : std::string_view();
}

// The innermost container is the last one of a path. A conmon process of cri-o and podman is in a
// scope that is called like its container, beside it.
std::string id_of_path(std::string_view path) {
  std::string id;
  any_part(path, '/', [&id](std::string_view component) {
    const bool is_monitor = component.find("conmon") != std::string_view::npos;
    const std::string_view found = is_monitor ? std::string_view() : id_of_component(component);
    if (!found.empty()) id = found;
    return false;
  });
  return id.empty() ? std::string(id_of_ecs(path)) : id;
}

// "HIERARCHY:CONTROLLERS:PATH"
std::string_view path_of_line(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  return second == std::string_view::npos ? std::string_view() : line.substr(second + 1);
}

// The runtime mounts hostname and resolv.conf from a folder that is called like the container:
// "… /var/lib/docker/containers/ID/hostname /etc/hostname …".
std::string id_of_mounts(std::string_view mountinfo) {
  std::string id;
  any_part(mountinfo, '\n', [&id](std::string_view line) {
    const bool is_for_container = line.find(" /etc/hostname ") != std::string_view::npos ||
                                  line.find(" /etc/resolv.conf ") != std::string_view::npos ||
                                  line.find(" /etc/hosts ") != std::string_view::npos;
    return is_for_container && any_part(line, ' ', [&id](std::string_view field) {
             return field.starts_with('/') && !(id = id_of_path(field)).empty();
           });
  });
  return id;
}

}  // namespace

std::string find_container_id(std::string_view cgroup, std::string_view mountinfo) {
  std::string id;
  any_part(cgroup, '\n', [&id](std::string_view line) {
    id = id_of_path(path_of_line(line));
    return !id.empty();
  });
  return id.empty() ? id_of_mounts(mountinfo) : id;
}

std::string find_service_unit(std::string_view cgroup) {
  std::string unit;
  any_part(cgroup, '\n', [&unit](std::string_view line) {
    return any_part(path_of_line(line), '/', [&unit](std::string_view component) {
      constexpr std::string_view kSuffix = ".service";
      const bool is_session = component.starts_with("user@");
      if (!component.ends_with(kSuffix) || is_session) return false;
      unit = component.substr(0, component.size() - kSuffix.size());
      return true;
    });
  });
  return unit;
}

std::string container_name(const ContainerNames& names, std::string_view id) {
  const std::string_view short_id = id.substr(0, kShortIdDigits);
  std::string name = names.name.empty() ? std::string(short_id) : names.name;
  if (names.pod.empty()) return name;
  const auto part = [](std::string text) {  // "_" separates the parts
    std::replace(text.begin(), text.end(), '_', '-');
    return text;
  };
  return fmt::format("k8s_{}_{}_{}_{}_0", part(name), part(names.pod), part(names.pod_namespace),
                     part(names.pod_uid));
}

}  // namespace swipr::fleet
