#include "cli/commands/agent/targets.h"

#include <fnmatch.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cli/fleet/resource_attributes.h"
#include "cli/session/find/places.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Folders that did not exist before, and sockets elsewhere, are found by a search. It takes 0.5 ms
// of CPU time per process; 1/500 of a CPU is spent on searches.
constexpr auto kBetweenSearches = 30s;
constexpr int kSearchShare = 500;
constexpr std::size_t kMostCreated = 1000;  // beyond, a search is cheaper

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&name](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

nanoseconds own_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

std::string link_target(const std::string& path) {
  std::array<char, 4096> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string text_of(const std::string& path) {
  auto text = host::read_file(path, std::size_t{256} << 10);
  return text ? *std::move(text) : std::string();
}

// What is not set otherwise.
void add_attributes(std::string_view attributes, TargetFacts& facts) {
  const auto add = [attributes](std::string& value, std::string_view name) {
    if (value.empty()) value = fleet::find_attribute(attributes, name);
  };
  add(facts.service, "service.name");
  add(facts.version, "service.version");
  add(facts.container_name, "k8s.container.name");
  add(facts.container_name, "container.name");
  add(facts.pod, "k8s.pod.name");
  add(facts.pod_namespace, "k8s.namespace.name");
  add(facts.pod_uid, "k8s.pod.uid");
}

TargetFacts facts_of_hidden(const session::ListedProcess& process) {
  const session::AgentInfo& info = *process.hidden;
  TargetFacts facts;
  facts.pid = process.pid;
  facts.command_name = process.command;
  if (!info.argv0.empty()) facts.command_line = {info.argv0};
  facts.cgroup = info.cgroup;
  facts.service = info.service;
  facts.labels = info.labels;
  add_attributes(info.resource_attributes, facts);
  return facts;
}

TargetFacts read_facts(const session::ListedProcess& process) {
  if (process.hidden) return facts_of_hidden(process);
  TargetFacts facts;
  facts.pid = process.pid;
  facts.command_name = process.command;
  facts.executable = link_target(host::proc_path(process.pid, "exe"));
  facts.command_line = host::read_command_line(process.pid);
  facts.cgroup = text_of(host::proc_path(process.pid, "cgroup"));
  facts.mountinfo = text_of(host::proc_path(process.pid, "mountinfo"));
  const std::string environment = text_of(host::proc_path(process.pid, "environ"));
  const auto variable = [&environment](std::string_view name) {
    return host::find_variable(environment, name).value_or("");
  };
  facts.service = variable("SWIPR_SERVICE_NAME");
  if (facts.service.empty()) facts.service = variable("OTEL_SERVICE_NAME");
  facts.labels = variable("SWIPR_LABELS");
  facts.container_name = variable("SWIPR_CONTAINER_NAME");
  facts.pod = variable("SWIPR_POD_NAME");
  facts.pod_namespace = variable("SWIPR_POD_NAMESPACE");
  facts.pod_uid = variable("SWIPR_POD_UID");
  add_attributes(variable("OTEL_RESOURCE_ATTRIBUTES"), facts);
  return facts;
}

std::uint64_t start_ticks_of(const session::ListedProcess& process) {
  if (process.hidden) return 0;
  const auto stat = host::read_process_stat(process.pid);
  return stat ? stat->start_ticks : 0;
}

std::int64_t start_time_of(const session::ListedProcess& process) {
  return process.hidden ? process.hidden->start_time_ns : 0;
}

bool is_same(const AgentTarget& target, const session::ListedProcess& process,
             std::uint64_t start_ticks) {
  return target.socket == process.socket && target.facts.pid == process.pid &&
         target.start_ticks == start_ticks && target.start_time_ns == start_time_of(process) &&
         !target.has_ended;
}

}  // namespace

std::optional<nanoseconds> read_cpu_clock(Pid pid) {
  clockid_t clock{};
  timespec time{};
  if (pid.value <= 0 || ::clock_getcpuclockid(pid.value, &clock) != 0) return std::nullopt;
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

AgentTarget* Targets::find(std::uint64_t id) {
  const auto place = targets_.find(id);
  return place == targets_.end() ? nullptr : &place->second;
}

void Targets::on_change() {
  alignas(inotify_event) std::array<char, 4096> events;
  for (ssize_t size; (size = ::read(watch_.value(), events.data(), events.size())) > 0;) {
    for (const char* at = events.data(); at < events.data() + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      const auto folder = watched_.find(event->wd);
      const bool is_lost = (event->mask & IN_Q_OVERFLOW) != 0 || created_.size() > kMostCreated;
      if (is_lost) next_search_ = {};
      if (is_lost || event->len == 0 || folder == watched_.end()) continue;
      created_.push_back({folder->second, event->name});  // padded with zeros (inotify(7))
    }
  }
}

void Targets::look_again(const std::string& socket) {
  const std::size_t slash = socket.rfind('/');
  created_.push_back({socket.substr(0, slash), socket.substr(slash + 1)});
}

std::vector<std::uint64_t> Targets::look(std::chrono::steady_clock::time_point now) {
  std::vector<std::uint64_t> added;
  if (now >= next_search_) {
    created_.clear();
    const nanoseconds before = own_cpu_time();
    search(added);
    next_search_ =
        now + std::max<nanoseconds>(kBetweenSearches, kSearchShare * (own_cpu_time() - before));
    has_searched_ = true;
  } else if (!created_.empty()) {
    add(session::list_sockets(std::exchange(created_, {})), added);
  }
  read_clocks();
  return added;
}

bool Targets::is_wanted(const session::ListedProcess& process) const {
  const auto& pids = options_.pids;
  if (!process.hidden && process.pid == Pid{::getpid()}) return false;
  if (!pids.empty() && std::find(pids.begin(), pids.end(), process.pid) == pids.end()) return false;
  const std::string folder = process.socket.substr(0, process.socket.rfind('/'));
  if (!options_.socket_folder.empty() && folder != options_.socket_folder) return false;
  if (!options_.only.empty() && !matches_any(options_.only, process.command)) return false;
  return !matches_any(options_.exclude, process.command);
}

void Targets::search(std::vector<std::uint64_t>& added) {
  watch_folders();
  left_out_ = 0;
  add(session::list_targets(), added);
}

void Targets::add(const session::Listing& listing, std::vector<std::uint64_t>& added) {
  for (const session::ListedProcess& process : listing.processes) {
    if (!is_wanted(process)) continue;
    const std::uint64_t start_ticks = start_ticks_of(process);
    const bool is_known = std::any_of(targets_.begin(), targets_.end(), [&](const auto& entry) {
      return is_same(entry.second, process, start_ticks);
    });
    if (is_known) continue;
    if (targets_.size() >= options_.max_processes) {
      ++left_out_;
      continue;
    }
    AgentTarget target;
    target.socket = process.socket;
    target.start_ticks = start_ticks;
    target.start_time_ns = start_time_of(process);
    target.facts = read_facts(process);
    if (!process.hidden) target.kernel_cpu = read_cpu_clock(process.pid).value_or(0ns);
    const nanoseconds before = accounted_before(process.pid, start_ticks, target.kernel_cpu);
    target.ledger = fleet::CpuLedger(before);
    target.slice_cpu = before;
    added.push_back(next_id_);
    targets_.emplace(next_id_++, std::move(target));
  }
}

// All of the CPU time of those that have started since the last search is accounted for. That of an
// earlier image of the process is another target's.
nanoseconds Targets::accounted_before(Pid pid, std::uint64_t start_ticks, nanoseconds now) const {
  if (!has_searched_ || start_ticks == 0) return now;
  nanoseconds before{0};
  for (const auto& [id, other] : targets_) {
    const bool is_earlier_image = other.facts.pid == pid && other.start_ticks == start_ticks;
    if (is_earlier_image) before = std::max(before, other.kernel_cpu);
  }
  return before;
}

void Targets::watch_folders() {
  if (!watch_) watch_ = host::UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch_) return;
  // A folder that is watched already keeps its watch.
  for (const std::string& folder : session::find_socket_directories()) {
    const int number =
        ::inotify_add_watch(watch_.value(), folder.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    if (number >= 0) watched_[number] = folder;
  }
}

void Targets::read_clocks() {
  for (auto& [id, target] : targets_) {
    if (target.start_ticks == 0 || target.has_ended) continue;
    const auto cpu = read_cpu_clock(target.facts.pid);
    // It has not run since, nor ended, which takes CPU time: `stat`, 20 times as dear, says nothing
    // new.
    if (cpu && cpu == target.alive_at) continue;
    const auto stat = host::read_process_stat(target.facts.pid);
    if (!stat || stat->start_ticks != target.start_ticks) {
      target.has_ended = true;
      continue;
    }
    // The clock of a process that has ended can be read until its parent has waited for it.
    if (cpu) target.kernel_cpu = std::max(target.kernel_cpu, *cpu);
    if (stat->state == 'Z') target.has_ended = true;
    target.alive_at = cpu;
  }
}

}  // namespace swipr::commands
