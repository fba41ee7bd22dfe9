#include "cli/import/recording_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/profile/recording/collector_frames.h"

namespace swipr::importers {

namespace {
constexpr std::size_t kMaxWarnings = 100;

std::size_t mix(std::size_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15u + (seed >> 29);
}
}  // namespace

std::int32_t kernel_id(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int32_t>::max();
  return value <= kMax ? static_cast<std::int32_t>(value) : 0;
}

std::size_t RecordingBuilder::FrameKeyHash::operator()(const FrameKey& key) const {
  const std::uint64_t rest = (std::uint64_t{key.process} << 32) ^ key.module;
  return mix(mix(static_cast<std::size_t>(key.kind), key.pc), rest);
}

std::size_t RecordingBuilder::StackHash::operator()(std::uint32_t index) const {
  const profile::Stack& stack = (*stacks)[index];
  std::size_t hash = mix(stack.omitted_at, std::hash<std::string>{}(stack.wait_syscall));
  hash = mix(hash, std::hash<std::string>{}(stack.wait_channel));
  hash = mix(hash, static_cast<std::uint64_t>(stack.holder.value) << 8 |
                       static_cast<std::uint64_t>(stack.runtime_wait));
  hash = mix(hash, std::hash<std::string>{}(stack.wait_type));
  hash = mix(hash, stack.lock.value_or(0));
  for (std::uint32_t frame : stack.frames) hash = mix(hash, frame);
  return hash;
}

bool RecordingBuilder::StackEqual::operator()(std::uint32_t left, std::uint32_t right) const {
  const profile::Stack& a = (*stacks)[left];
  const profile::Stack& b = (*stacks)[right];
  return a.omitted_at == b.omitted_at && a.wait_syscall == b.wait_syscall &&
         a.root_reached == b.root_reached && a.wait_channel == b.wait_channel &&
         a.runtime_wait == b.runtime_wait && a.holder == b.holder && a.wait_type == b.wait_type &&
         a.lock == b.lock && a.frames == b.frames;
}

RecordingBuilder::RecordingBuilder()
    : stacks_(64, StackHash{&recording_.stacks}, StackEqual{&recording_.stacks}) {}

std::uint32_t RecordingBuilder::add_process(profile::Process process) {
  auto& latest = latest_start_[process.pid];
  latest = std::max(latest, process.start_monotonic);
  recording_.processes.push_back(std::move(process));
  return static_cast<std::uint32_t>(recording_.processes.size() - 1);
}

std::uint32_t RecordingBuilder::add_thread(profile::Thread thread) {
  recording_.threads.push_back(std::move(thread));
  return static_cast<std::uint32_t>(recording_.threads.size() - 1);
}

std::uint32_t RecordingBuilder::intern_module(profile::Module module) {
  const std::string key =
      fmt::format("{} {:x} {:x} {:x} {:x} {} {} {}", module.process, module.start.value,
                  module.size_bytes, module.file_offset.value, module.load_bias,
                  module.has_file_offset, module.build_id, module.path);
  const auto [place, is_new] =
      modules_.try_emplace(key, static_cast<std::uint32_t>(recording_.modules.size()));
  if (is_new) recording_.modules.push_back(std::move(module));
  return place->second;
}

std::uint32_t RecordingBuilder::add_function(profile::Function function) {
  recording_.functions.push_back(std::move(function));
  return static_cast<std::uint32_t>(recording_.functions.size() - 1);
}

std::uint32_t RecordingBuilder::intern_frame(const profile::Frame& frame) {
  const FrameKey key{frame.pc.value, frame.process, frame.module,
                     frame.function, frame.kind,    frame.execution};
  const auto [place, is_new] =
      frames_.try_emplace(key, static_cast<std::uint32_t>(recording_.frames.size()));
  if (is_new) recording_.frames.push_back(frame);
  return place->second;
}

std::uint32_t RecordingBuilder::intern_stack(profile::Stack stack) {
  // The candidate is appended first, because the set compares by index.
  recording_.stacks.push_back(std::move(stack));
  const auto [place, is_new] =
      stacks_.insert(static_cast<std::uint32_t>(recording_.stacks.size() - 1));
  if (!is_new) recording_.stacks.pop_back();
  return *place;
}

std::uint32_t RecordingBuilder::intern_labels(profile::LabelSet labels) {
  const auto [place, is_new] = label_sets_.try_emplace(
      std::move(labels), static_cast<std::uint32_t>(recording_.label_sets.size()));
  if (is_new) recording_.label_sets.push_back(place->first);
  return place->second;
}

bool RecordingBuilder::has_later_image(std::uint32_t process) const {
  const profile::Process& image = recording_.processes[process];
  return latest_start_.at(image.pid) > image.start_monotonic;
}

void RecordingBuilder::warn(std::string text) {
  if (recording_.warnings.size() >= kMaxWarnings) {
    ++warnings_left_out_;
    return;
  }
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7F) character = ' ';
  }
  recording_.warnings.push_back(std::move(text));
}

profile::Recording RecordingBuilder::take() {
  if (warnings_left_out_ != 0) {
    recording_.warnings.push_back(fmt::format("{} more warnings", warnings_left_out_));
  }
  const auto by_time = [](const profile::Sample& left, const profile::Sample& right) {
    return left.time < right.time;
  };
  auto& samples = recording_.samples;
  // Samples of a single source are usually in order already.
  if (!std::is_sorted(samples.begin(), samples.end(), by_time)) {
    std::stable_sort(samples.begin(), samples.end(), by_time);
  }
  profile::drop_doubtful_collectors(recording_);
  return std::move(recording_);
}

}  // namespace swipr::importers
