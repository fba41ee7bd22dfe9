#include "cli/session/launch/descendants.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "cli/session/launch/program.h"
#include "common/host/text/count_text.h"

namespace swipr::session {

namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooksAtDescendants = 100ms;
constexpr int kCostShare = 100;  // a scan takes at most 1/100 of the CPU time between two scans
// An image that has not connected after this time of loading will not connect.
constexpr auto kTimeToConnect = 2s;
constexpr std::size_t kMaxUnrecorded = 1000;

std::optional<std::pair<std::uint64_t, std::uint64_t>> image_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair<std::uint64_t, std::uint64_t>(info.st_dev, info.st_ino);
}

// CPU time, because elapsed time depends on the load of the machine.
std::chrono::nanoseconds own_cpu() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds time_of_ticks(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(ticks * (std::uint64_t{1'000'000'000} / per_second)));
}

std::optional<std::string> find_reason_in_environment(const std::string& environment,
                                                      const std::string& rendezvous) {
  const auto preload = host::find_variable(environment, "LD_PRELOAD");
  if (!preload || preload->find("libswipr_preload") == std::string::npos ||
      host::find_variable(environment, "SWIPR_RENDEZVOUS") != rendezvous) {
    return "was started without the environment of the command (env -i, sudo, su): LD_PRELOAD and "
           "SWIPR_RENDEZVOUS are missing";
  }
  for (const char* name : {"SWIPR_DISABLE", "SWIPR_ONLY"}) {
    if (const auto value = host::find_variable(environment, name); value && !value->empty()) {
      return fmt::format("is excluded by {}={}", name, *value);
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_reason_in_root(Pid pid) {
  const std::string root = host::proc_path(pid, "root");
  const auto theirs = image_of(root), ours = image_of("/");
  if (!theirs || theirs == ours) return std::nullopt;
  const auto preload = find_preload();
  if (!preload || image_of(root + *preload)) return std::nullopt;
  return fmt::format("runs in another root directory (chroot or container), which has no {}",
                     *preload);
}

// During exec a process has no environment: for microseconds, or until it gets a CPU.
// Source: Linux, fs/binfmt_elf.c (create_elf_tables), fs/proc/base.c (environ_read).
bool is_in_exec(Pid pid) {
  const auto stat = host::read_process_stat(pid);
  return !stat || stat->environment_end == 0;
}

}  // namespace

std::vector<std::string> describe(const std::vector<Unrecorded>& unrecorded) {
  constexpr std::size_t kMaxLines = 6;
  struct Sum {
    std::uint64_t count = 0;
    Pid first;
    std::chrono::nanoseconds cpu{0};
  };
  std::map<std::pair<std::string, std::string>, Sum> programs;
  for (const Unrecorded& process : unrecorded) {
    Sum& sum = programs[{process.name, process.reason}];
    if (sum.count++ == 0) sum.first = process.pid;
    sum.cpu += process.cpu;
  }
  std::vector<std::string> lines;
  for (const auto& [program, sum] : programs) {
    if (lines.size() == kMaxLines) {
      lines.push_back("not recorded: " +
                      host::counted(programs.size() - kMaxLines, "more program"));
      break;
    }
    const std::string which =
        sum.count == 1 ? fmt::format("process {}", sum.first.value)
                       : fmt::format("{} processes, such as {}", sum.count, sum.first.value);
    lines.push_back(fmt::format("not recorded: {} ({}, with {:.3f} s of CPU time or more): {}",
                                program.first, which,
                                std::chrono::duration<double>(sum.cpu).count(), program.second));
  }
  return lines;
}

std::optional<std::string> find_reason_for_absence(Pid pid, const std::string& rendezvous) {
  const std::string executable = host::proc_path(pid, "exe");
  if (auto obstacle = find_obstacle(executable)) return obstacle;
  const auto environment = host::read_file(host::proc_path(pid, "environ"));
  if (!environment) {
    const auto status = host::read_process_status(pid);
    if (!status || status->uid == ::geteuid()) return std::nullopt;
    return "runs as another user (setuid, setgid or file capabilities): the loader ignores "
           "LD_PRELOAD for such programs";
  }
  if (environment->empty() && is_in_exec(pid)) return std::nullopt;
  if (auto reason = find_reason_in_root(pid)) return reason;
  return find_reason_in_environment(*environment, rendezvous);
}

Descendants::Descendants(Pid root, std::string rendezvous)
    : rendezvous_(std::move(rendezvous)),
      next_look_(Clock::now() + kBetweenLooksAtDescendants / 2) {
  known_[root];
}

void Descendants::on_connected(Pid pid) {
  Known& known = known_[pid];
  known.recorded = image_of(host::proc_path(pid, "exe"));
  known.missed_since.reset();
  if (known.told && known.told == known.recorded) unrecorded_[known.place].reason.clear();
  known.told.reset();
}

std::vector<Unrecorded> Descendants::unrecorded() const {
  std::vector<Unrecorded> result;
  for (const Unrecorded& process : unrecorded_) {
    if (!process.reason.empty()) result.push_back(process);
  }
  return result;
}

void Descendants::look(const std::set<Pid>& connected) {
  const auto cpu_before = own_cpu();
  const std::vector<Pid> pids = host::list_processes();
  next_look_ = Clock::now() + kBetweenLooksAtDescendants;
  if (pids.empty()) return;  // no free descriptor
  const std::set<Pid> alive(pids.begin(), pids.end());
  std::erase_if(others_, [&alive](Pid pid) { return !alive.contains(pid); });
  std::erase_if(known_, [&alive](const auto& entry) { return !alive.contains(entry.first); });
  for (const Pid pid : pids) {
    if (others_.contains(pid)) continue;
    const auto stat = host::read_process_stat(pid);
    if (!stat) continue;
    auto known = known_.find(pid);
    if (known == known_.end()) {
      if (!known_.contains(stat->parent)) {
        others_.insert(pid);
        continue;
      }
      known = known_.try_emplace(pid).first;
    }
    if (stat->state == 'Z' || stat->state == 'X' || connected.contains(pid)) continue;
    judge(pid, *stat, known->second);
  }
  const auto cost = own_cpu() - cpu_before;
  next_look_ = Clock::now() +
               std::max<std::chrono::nanoseconds>(kBetweenLooksAtDescendants, cost * kCostShare);
}

void Descendants::judge(Pid pid, const host::ProcessStat& stat, Known& known) {
  const auto image = image_of(host::proc_path(pid, "exe")).value_or(Image{});
  if (known.recorded == image) return;  // the process is exiting; its recording has ended already
  if (known.told == image) {
    unrecorded_[known.place].cpu = time_of_ticks(stat.cpu_ticks);
    return;
  }
  const auto now = Clock::now();
  if (!known.missed_since) known.missed_since = now;
  if (auto reason = find_reason_for_absence(pid, rendezvous_)) {
    return tell(pid, stat, known, image, *std::move(reason));
  }
  if (now - *known.missed_since < kTimeToConnect) return;
  tell(pid, stat, known, image, "has not connected; /proc shows no reason");
}

void Descendants::tell(Pid pid, const host::ProcessStat& stat, Known& known, const Image& image,
                       std::string reason) {
  if (unrecorded_.size() >= kMaxUnrecorded) return;
  known.told = image;
  known.place = unrecorded_.size();
  unrecorded_.push_back({pid, stat.name, std::move(reason), time_of_ticks(stat.cpu_ticks)});
}

}  // namespace swipr::session
