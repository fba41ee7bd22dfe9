#include "cli/commands/live/followed_process.h"

#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

namespace swipr::commands {

namespace {
constexpr std::size_t kMaxStacks = 100'000;
// Of all stacks: 64 MB.
constexpr std::size_t kMaxStackFrames = 16'000'000;
constexpr std::size_t kMaxCallSets = 500'000;  // of samples in traced calls: 40 MB
}  // namespace

FollowedProcess::FollowedProcess(session::Target target, std::chrono::nanoseconds interval,
                                 options::SymbolOptions symbols, std::string probes)
    : pid_(target.pid),
      command_(std::move(target.command_name)),
      interval_(interval),
      symbols_(std::move(symbols)),
      probes_(std::move(probes)) {
  begin(std::move(target.connection));
}

void FollowedProcess::begin(host::UniqueFd connection) {
  reader_ = std::make_unique<importers::SwiprReader>();
  names_ = std::make_unique<LiveNames>(symbols_);
  counted_stacks_ = stack_frames_ = 0;
  session::StreamRequest request;
  request.interval = interval_;
  request.probes = probes_;
  stream_ = std::make_unique<session::LiveStream>(
      std::move(connection), request,
      [this](std::span<const std::byte> bytes) { reader_->feed(bytes); });
}

host::Result<bool> FollowedProcess::read(std::vector<profile::Sample>& samples) {
  auto more = stream_->read();
  if (!more) return more;
  if (reader_->failed()) return host::Error("the stream cannot be read: update swipr");
  std::vector<profile::Sample>& arrived = recording().samples;
  samples.insert(samples.end(), arrived.begin(), arrived.end());
  arrived.clear();
  const std::vector<profile::Stack>& stacks = recording().stacks;
  for (; counted_stacks_ < stacks.size(); ++counted_stacks_) {
    stack_frames_ += stacks[counted_stacks_].frames.size();
  }
  return more;
}

std::uint64_t FollowedProcess::dropped() const {
  std::uint64_t sum = dropped_before_;
  for (const profile::Process& process : reader_->so_far().processes) {
    const auto found = process.totals.find("samples_dropped");
    if (found != process.totals.end()) sum += found->second;
  }
  return sum;
}

bool FollowedProcess::is_full() const {
  const profile::Recording& recording = reader_->so_far();
  return recording.stacks.size() >= kMaxStacks || stack_frames_ >= kMaxStackFrames ||
         recording.call_sets.size() >= kMaxCallSets;
}

host::Result<void> FollowedProcess::restart() {
  auto target = session::connect_target(pid_);
  if (!target) return target.error();
  restart(*std::move(target));
  return {};
}

void FollowedProcess::restart(session::Target target) {
  dropped_before_ = dropped();
  command_ = std::move(target.command_name);
  begin(std::move(target.connection));
}

}  // namespace swipr::commands
