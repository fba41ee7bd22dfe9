#include "preload/agent/serve/info_page.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "preload/agent/base/clock.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/base/text/utc_time.h"
#include "preload/agent/proc/memory_room.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/proc/proc_text.h"
#include "preload/agent/proc/thread_clock.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// The curl options that reach this listener.
void append_curl(const Listener* listener, std::string_view options, std::string_view path,
                 TextWriter& out) noexcept {
  out.append("  curl ");
  if (listener != nullptr && listener->is_tcp) {
    out.append(options).append(" '").append(listener->url.view()).append(path).append("'");
    return;
  }
  out.append("--unix-socket ").append(listener != nullptr ? listener->path.view() : "$SOCKET"sv);
  out.append(' ').append(options).append(" 'http://localhost").append(path).append("'");
}

void append_member(std::string_view name, std::uint64_t value, TextWriter& out) noexcept {
  out.append(",\"").append(name).append("\":").append_number(value);
}

void append_member(std::string_view name, std::string_view value, TextWriter& out) noexcept {
  out.append(",\"").append(name).append("\":").append_json_string(value);
}

void append_counters(const RecorderCounters& counters, TextWriter& out) noexcept {
  out.append(",\"counters\":{\"recordings_started\":").append_number(counters.recordings_started);
  append_member("ticks", counters.ticks, out);
  append_member("samples", counters.samples, out);
  append_member("signals_sent", counters.signals_sent, out);
  append_member("signals_stray", counters.signals_stray, out);
  out.append('}');
}

// What a client in another container cannot read: its /proc shows other processes.
void append_identity(const Settings& settings, TextWriter& out) noexcept {
  constexpr std::size_t kMostBytes = 2048;  // of each text; the answer is bounded
  append_member("argv0", leading(settings.first_argument, kMostBytes), out);
  append_member("service", leading(settings.service, kMostBytes), out);
  append_member("labels", leading(settings.labels, kMostBytes), out);
  append_member("resource_attributes", leading(settings.resource_attributes, kMostBytes), out);
  utsname system{};
  ::uname(&system);
  append_member("hostname", std::string_view(system.nodename), out);
  FixedText<kMostBytes> cgroup;
  read_file_text("/proc/self/cgroup", cgroup);
  append_member("cgroup", cgroup.view(), out);
  append_member("pid_namespace", pid_namespace_inode(), out);
}

// "refusal": why its frames are not read; missing: they are.
void append_runtimes(std::span<const FoundRuntime> runtimes, TextWriter& out) noexcept {
  out.append(",\"runtimes\":[");
  for (const FoundRuntime& runtime : runtimes) {
    if (&runtime != runtimes.data()) out.append(',');
    out.append("{\"language\":").append_json_string(language_name(runtime.language));
    append_member("version", std::string_view(runtime.version), out);
    if (runtime.is_refused()) {
      append_member("refusal", std::string_view(runtime.refusal), out);
    }
    out.append('}');
  }
  out.append(']');
}

std::string_view describe_memory(std::uint64_t threads) noexcept {
  MemoryRoom room;
  room.open();
  const bool enough = room.has(room_to_begin(threads));
  room.close();
  return enough ? "enough"sv : "too little for a recording"sv;
}

std::string_view file_ending(AnswerFormat format) noexcept {
  switch (format) {
    case AnswerFormat::kPerf:
      return ".perf";
    case AnswerFormat::kPprof:
      return ".pb.gz";
    case AnswerFormat::kCollapsed:
      return ".collapsed";
    case AnswerFormat::kRaw:
      break;
  }
  return ".swipr";
}

void append_utc_time(std::uint64_t seconds, TextWriter& out) noexcept {
  const UtcTime time = utc_time(seconds);
  out.append_padded(time.year, 4)
      .append_padded(time.month, 2)
      .append_padded(time.day, 2)
      .append('T');
  out.append_padded(time.hour, 2).append_padded(time.minute, 2).append_padded(time.second, 2);
  out.append('Z');
}

}  // namespace

void write_help(const Listener* listener, TextWriter& out) noexcept {
  FixedText<64> command;
  read_file_text("/proc/self/comm", command);  // ends its line
  out.append("swipr " SWIPR_VERSION " in process ");
  out.append_number(static_cast<std::uint64_t>(::getpid())).append(", ").append(command.view());
  out.append('\n');
  out.append("10 samples of every thread, 100 ms apart, as perf script prints them:\n");
  append_curl(listener, "-sd '{\"numberOfSamples\":10,\"timeInterval\":\"100 ms\"}'", "/sample",
              out);
  out.append(" > samples.perf\n5 seconds for pprof:\n");
  append_curl(listener, "-s", "/debug/pprof/profile?seconds=5", out);
  out.append(" > profile.pb.gz\n\n");
  out.append(
      "POST /sample              {\"numberOfSamples\":100,\"timeInterval\":\"10 ms\",\n"
      "                           \"format\":\"perf|pprof|collapsed|raw\",\n"
      "                           \"mode\":\"wall|cpu|offcpu\"}\n"
      "GET  /debug/pprof/profile ?seconds=30&rate=100&mode=wall\n"
      "GET  /debug/pprof/        /debug/pprof/cmdline\n"
      "GET  /v1/info             about the process, JSON\n"
      "POST /v1/record           {\"numberOfSamples\":N,\"timeInterval\":\"10 ms\","
      "\"duration\":\"10 s\",\n"
      "                           \"mode\":\"wall|cpu|offcpu\"}: .swipr stream\n"
      "POST /v1/file             the same with \"path\":\"/FILE\": into a file; DELETE ends it\n"
      "GET  /v1/modules/BUILD-ID a mapped file\n");
}

void write_info_json(const Settings& settings, const Listener& default_listener,
                     const RecorderCounters& counters, std::span<const FoundRuntime> runtimes,
                     TextWriter& out) noexcept {
  const ProcessStatus status = read_process_status();
  FixedText<64> command;
  read_file_text("/proc/self/comm", command);
  if (command.view().ends_with('\n')) command.resize(command.size() - 1);
  PathText executable;
  executable.grow(read_link_below_proc("/proc/self/exe", executable.free_space()).size());

  out.append("{\"version\":\"" SWIPR_VERSION "\",\"protocol\":1");
  append_member("pid", static_cast<std::uint64_t>(::getpid()), out);
  append_member("ppid", static_cast<std::uint64_t>(::getppid()), out);
  append_member("uid", static_cast<std::uint64_t>(::geteuid()), out);
  append_member("command", command.view(), out);
  append_member("executable", executable.view(), out);
  append_member("threads", status.threads, out);
  append_member("start_time_ns", status.start_time_ns, out);
  append_member("socket", default_listener.path.view(), out);
  append_counters(counters, out);
  append_member("agent_cpu_ns", static_cast<std::uint64_t>(read_own_clock().count()), out);
  append_member("unwinder", name_of(counters.unwinder), out);
  if (!counters.unwinder_failure.empty()) {
    append_member("unwinder_failure", counters.unwinder_failure, out);
  }
  append_member("recordings", counters.recordings_active, out);
  append_member("state", counters.recordings_active > 0 ? "recording"sv : "idle"sv, out);
  append_member("memory", describe_memory(status.threads), out);
  append_identity(settings, out);
  append_runtimes(runtimes, out);
  out.append("}\n");
}

void write_pprof_index(TextWriter& out) noexcept {
  out.append(
      "<html><head><title>/debug/pprof/</title></head><body>/debug/pprof/<ul>\n"
      "<li><a href=\"cmdline\">cmdline</a>: the command line of the process</li>\n"
      "<li><a href=\"profile\">profile</a>: all threads, running and blocked; "
      "?seconds=30&amp;rate=100&amp;mode=wall|cpu|offcpu</li>\n</ul></body></html>\n");
}

void write_command_line(TextWriter& out) noexcept {
  read_file_text("/proc/self/cmdline", out);
  if (!out.empty() && out.view().back() == '\0') out.resize(out.size() - 1);
}

void write_file_name(AnswerFormat format, TextWriter& out) noexcept {
  out.append("samples-").append_number(static_cast<std::uint64_t>(::getpid())).append('-');
  append_utc_time(clock_ns(CLOCK_REALTIME) / kNsPerSecond, out);
  out.append(file_ending(format));
}

}  // namespace swipr::agent
