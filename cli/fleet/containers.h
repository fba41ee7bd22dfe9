// The container that a process runs in, from texts of /proc alone: no runtime is asked. Pure.
#pragma once

#include <string>
#include <string_view>

namespace swipr::fleet {

// The id of the container in the text of /proc/PID/cgroup (docker, containerd, cri-o, podman, ECS),
// or, where a cgroup namespace hides it, of /proc/PID/mountinfo. Empty: none.
std::string find_container_id(std::string_view cgroup, std::string_view mountinfo = {});

// The systemd unit in the text of /proc/PID/cgroup: "nginx" of nginx.service. Empty: none, or one
// of a user's session, which says nothing of the program.
std::string find_service_unit(std::string_view cgroup);

// How the container is called in profiles. `name`: SWIPR_CONTAINER_NAME; `pod`, `pod_namespace`: of
// Kubernetes, through the downward API. With a pod, as Kubernetes' own names, by which the studio
// groups containers by workload: k8s_CONTAINER_POD_NAMESPACE_UID_0. Without any name the first 12
// digits of the id.
struct ContainerNames {
  std::string name, pod, pod_namespace, pod_uid;
};
std::string container_name(const ContainerNames& names, std::string_view id);

}  // namespace swipr::fleet
