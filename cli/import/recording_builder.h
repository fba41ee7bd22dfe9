// Builds a Recording. Interns modules, frames and stacks, so that equal ones share an index.
// Limits the number of warnings, because the input is untrusted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::importers {

// Converts a stored pid or tid. Numbers that no kernel assigns become 0.
std::int32_t kernel_id(std::uint64_t value);

class RecordingBuilder {
 public:
  RecordingBuilder();
  RecordingBuilder(const RecordingBuilder&) = delete;
  RecordingBuilder& operator=(const RecordingBuilder&) = delete;

  // Indexes in the Recording.
  std::uint32_t add_process(profile::Process process);
  std::uint32_t add_thread(profile::Thread thread);
  std::uint32_t intern_module(profile::Module module);
  std::uint32_t add_function(profile::Function function);
  std::uint32_t intern_frame(const profile::Frame& frame);
  std::uint32_t intern_stack(profile::Stack stack);
  std::uint32_t intern_labels(profile::LabelSet labels);

  // Lifetime: valid until the next add_process or add_thread.
  profile::Process& process(std::uint32_t index) { return recording_.processes[index]; }
  profile::Thread& thread(std::uint32_t index) { return recording_.threads[index]; }

  // True if a later process has the same pid, that is, exec replaced the image.
  bool has_later_image(std::uint32_t process) const;

  std::vector<profile::Sample>& samples() { return recording_.samples; }
  std::vector<profile::Runtime>& runtimes() { return recording_.runtimes; }
  std::vector<profile::Difference>& differences() { return recording_.differences; }
  profile::EmbeddedNames& embedded() { return recording_.embedded; }

  // Control characters become spaces. Warnings after the first 100 are only counted.
  void warn(std::string text);

  profile::Recording& so_far() { return recording_; }
  // Sorts the samples by time; the sort is stable. Call once.
  profile::Recording take();

 private:
  struct FrameKey {
    std::uint64_t pc;
    std::uint32_t process;
    std::uint32_t module;
    std::uint32_t function;
    PcKind kind;
    Execution execution;
    friend bool operator==(const FrameKey&, const FrameKey&) = default;
  };
  struct FrameKeyHash {
    std::size_t operator()(const FrameKey& key) const;
  };
  struct StackHash {
    const std::vector<profile::Stack>* stacks;
    std::size_t operator()(std::uint32_t index) const;
  };
  struct StackEqual {
    const std::vector<profile::Stack>* stacks;
    bool operator()(std::uint32_t left, std::uint32_t right) const;
  };

  profile::Recording recording_;
  std::map<profile::LabelSet, std::uint32_t> label_sets_;
  std::unordered_map<std::string, std::uint32_t> modules_;  // by all fields, as text
  std::unordered_map<FrameKey, std::uint32_t, FrameKeyHash> frames_;
  std::unordered_set<std::uint32_t, StackHash, StackEqual> stacks_;
  std::map<Pid, std::chrono::nanoseconds> latest_start_;  // of the processes with this pid
  std::size_t warnings_left_out_ = 0;
};

}  // namespace swipr::importers
