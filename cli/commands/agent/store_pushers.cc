#include "cli/commands/agent/store_pushers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/push/spool.h"

namespace swipr::commands {

namespace {

using host::Result;

constexpr std::string_view kRemoval = "the spool is full, requests dropped: ";

// Beside the cache of names, unless systemd gives a folder for state.
std::string default_spool() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr && *value == '/' ? value : "");
  };
  if (const std::string state = variable("STATE_DIRECTORY"); !state.empty()) {
    return state.substr(0, state.find(':')) + "/spool";
  }
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) {
    return state + "/swipr/spool";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return home + "/.local/state/swipr/spool";
  }
  return {};
}

// With --slices the first slice begins at once, so that they end at other times on each host.
std::chrono::nanoseconds spread_of(const options::AgentOptions& options) {
  return options.slices == 0 ? options.slice / 2 : std::chrono::nanoseconds(0);
}

// "pyroscope-host-4040"
std::string folder_name(const push::StoreUrl& url) {
  const std::string_view engine = url.engine == push::Engine::kPyroscope ? "pyroscope"
                                  : url.engine == push::Engine::kParca   ? "parca"
                                  : url.engine == push::Engine::kOtlp    ? "otlp"
                                                                         : "gprofiler";
  std::string name = fmt::format("{}-{}-{}{}", engine, url.host, url.port, url.path);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return name;
}

// Two agents with one spool would send each request twice. The lock is kept until the end.
Result<host::UniqueFd> lock_folder(const std::string& folder) {
  const std::string path = folder + "/lock";
  host::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return host::system_error(fmt::format("cannot write {}", path), errno);
  // Not of the descriptor but of the process: pushers and workers inherit descriptors.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (::fcntl(file.value(), F_SETLK, &whole) == 0) return file;
  return host::Error(fmt::format("another agent uses the spool {}: use --spool", folder));
}

}  // namespace

Result<void> StorePushers::start(const options::AgentOptions& options) {
  const std::string root = options.spool_folder.empty() ? default_spool() : options.spool_folder;
  if (!options.push.urls.empty() && root.empty()) {
    return host::Error("there is no folder for requests that wait: use --spool");
  }
  for (const std::string& text : options.push.urls) {
    const auto url = push::parse_store_url(text);
    if (!url) return url.error();
    const std::string folder = root + "/" + folder_name(*url);
    auto spool = push::Spool::open(folder, options.spool_bytes);
    if (!spool) return spool.error();
    auto lock = lock_folder(folder);
    if (!lock) return lock.error();
    StoreCounters& counters = counters_.stores[url->origin()];
    counters.unknown += spool->remove_interrupted();
    auto pusher =
        push::Pusher::start({*url, folder, options.spool_bytes, options.push.token_file,
                             options.push.tenant, options.push.ca_file, spread_of(options)});
    if (!pusher) return pusher.error();
    stores_.push_back({{*url, folder}, *std::move(lock), *std::move(pusher)});
  }
  return {};
}

std::vector<SliceStore> StorePushers::stores() const {
  std::vector<SliceStore> places;
  for (const Store& store : stores_) places.push_back(store.place);
  return places;
}

void StorePushers::add_descriptors(std::vector<pollfd>& waits) const {
  for (const Store& store : stores_) {
    if (store.pusher.fd() >= 0) waits.push_back({store.pusher.fd(), POLLIN, 0});
  }
}

void StorePushers::read() {
  for (Store& store : stores_) {
    for (const push::PushEvent& event : store.pusher.take_events()) on_event(store, event);
  }
}

void StorePushers::on_event(Store& store, const push::PushEvent& event) {
  const std::string origin = store.place.url.origin();
  StoreCounters& counters = counters_.stores[origin];
  using Kind = push::PushEvent::Kind;
  switch (event.kind) {
    case Kind::kStored:
      if (store.is_waiting) log_.say(fmt::format("{} stores profiles again", origin));
      store.is_waiting = false;
      store.is_dropping = false;
      store.last_refusal.clear();
      ++counters.stored;
      counters.stored_bytes += event.bytes;
      return;
    case Kind::kRefused:
      ++counters.refused;
      if (event.text != store.last_refusal) {
        log_.say(fmt::format("{} refuses a profile: {}", origin, event.text));
      }
      store.last_refusal = event.text;
      return;
    case Kind::kUnknown:
      ++counters.unknown;
      log_.say(
          fmt::format("{}: the connection broke after a profile was sent, so it may or may "
                      "not be stored: {}",
                      origin, event.text));
      return;
    case Kind::kTooOld:
      ++counters.too_old;
      if (!store.is_dropping) {
        log_.say(fmt::format("{}: profiles have waited too long and are dropped", origin));
      }
      store.is_dropping = true;
      return;
    case Kind::kLater:
      ++counters.asked_again;
      if (!store.is_waiting) {
        log_.say(
            fmt::format("{} does not accept profiles now; they are kept: {}", origin, event.text));
      }
      store.is_waiting = true;
      return;
  }
}

std::string StorePushers::removal_line(const std::string& origin, std::uint64_t count) {
  return fmt::format("{}{} to {}", kRemoval, count, origin);
}

void StorePushers::on_line(std::string_view line) {
  if (!line.starts_with(kRemoval)) return;
  for (const Store& store : stores_) {
    const std::string origin = store.place.url.origin();
    if (!line.ends_with(" to " + origin)) continue;
    const std::string count(line.substr(kRemoval.size()));
    counters_.stores[origin].removed += std::strtoull(count.c_str(), nullptr, 10);
  }
}

void StorePushers::notify() {
  for (Store& store : stores_) {
    store.pusher.notify();
    const auto spool = push::Spool::open(store.place.spool_folder, 0);
    if (spool) counters_.stores[store.place.url.origin()].spool_bytes = spool->bytes();
  }
}

void StorePushers::finish() {
  for (Store& store : stores_) store.pusher.finish();
}

bool StorePushers::have_ended() {
  bool all = true;
  for (Store& store : stores_) all = store.pusher.has_ended() && all;
  return all;
}

}  // namespace swipr::commands
