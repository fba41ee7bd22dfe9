#include "cli/fleet/identity.h"

#include <algorithm>
#include <cstddef>

namespace swipr::fleet {

namespace {

constexpr std::size_t kMaxOwnLabels = 5;  // with those below and the host: 12 at most

// "shop" of "/srv/shop/", too: Python runs folders.
std::string_view file_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// "shop" of "/srv/shop.py", "/srv/shop.jar"; an object of a module stays whole.
std::string short_name(const Application& application) {
  std::string_view name = file_name(application.name);
  for (const std::string_view suffix : {".py", ".jar", ".js", ".rb", ".php", ".pl", ".psgi"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  if (name.starts_with("-m ")) name.remove_prefix(3);
  return std::string(name);
}

// Code on the command line or from standard input has no name.
bool is_named(const Application& application) {
  const std::string_view name = application.name;
  return application.kind != "native" && name != "unknown" && !name.empty() &&
         (!name.starts_with('-') || name.starts_with("-m "));
}

std::string service_of(const ProcessFacts& facts, const Application& application,
                       const std::string& container) {
  if (!facts.service.empty()) return facts.service;
  if (!container.empty()) return container;
  if (std::string unit = find_service_unit(facts.cgroup); !unit.empty()) return unit;
  if (is_named(application)) {
    if (std::string name = short_name(application); !name.empty()) return name;
  }
  const std::string_view program = file_name(facts.executable);
  return std::string(program.empty() ? facts.command_name : program);
}

void add_own_labels(std::string_view text, Identity& identity) {
  std::size_t count = 0;
  while (!text.empty() && count < kMaxOwnLabels) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != 0 && equals != std::string_view::npos) {
      identity.labels.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
      ++count;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Identity identify(const ProcessFacts& facts, std::string_view service) {
  const Application application = find_application(facts.command_line, facts.executable);
  const std::string id = find_container_id(facts.cgroup, facts.mountinfo);
  Identity identity;
  identity.container = container_name(facts.container, id);
  const std::string& plain = facts.container.name;
  // The name of a pod has a label of its own; it is no service, as each replica has another one.
  const bool is_plain = !plain.empty() || !facts.container.pod.empty();
  const std::string container = is_plain ? plain : identity.container;
  identity.service =
      service.empty() ? service_of(facts, application, container) : std::string(service);
  identity.application = application.text();
  if (const std::string more = matching_options(facts.command_line, facts.argument_filters);
      application.kind == "java" && !more.empty()) {
    identity.application += " (" + more + ")";
  }
  if (application.kind == "native") {
    identity.application += " (" + std::string(facts.executable) + ")";
  }
  add_own_labels(facts.labels, identity);
  identity.labels.emplace_back("comm", facts.command_name);
  if (!facts.version.empty()) identity.labels.emplace_back("version", facts.version);
  if (!container.empty()) identity.labels.emplace_back("container", container);
  if (!facts.container.pod.empty()) identity.labels.emplace_back("pod", facts.container.pod);
  if (!facts.container.pod_namespace.empty()) {
    identity.labels.emplace_back("namespace", facts.container.pod_namespace);
  }
  return identity;
}

}  // namespace swipr::fleet
