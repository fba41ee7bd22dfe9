// Decodes the records of one source of a .swipr file. Keeps the state that later records depend
// on: thread indexes, stack ids, the current time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cli/import/recording_builder.h"
#include "cli/import/stack_ids.h"
#include "common/wire/decoder.h"
#include "common/wire/sampled_calls.h"

namespace swipr::importers {

class SourceRecords {
 public:
  // `frames` is scratch space that all sources of a reader share.
  using FrameBuffer = std::array<wire::FrameEntry, wire::kMaxFrames>;
  SourceRecords(RecordingBuilder& builder, FrameBuffer& frames, std::uint32_t number)
      : builder_(builder), frame_buffer_(frames), number_(number) {}

  // Returns false if the type of the record is known but the record is damaged.
  bool apply(const wire::RawRecord& record);

  // Notes that records of this source may be missing at this point.
  void on_loss();

  // Adds the warnings about the whole source. Call once, at the end.
  void finish();

 private:
  struct Module {
    std::uint64_t end;
    std::uint64_t id;
    std::uint32_t index;  // in the Recording
  };
  struct Thread {
    std::uint32_t index;  // in the Recording
    std::uint64_t
        last_entry_ns;  // of its last entry, else of its start; from the start of the source
    std::uint32_t last_stack = profile::kNone;
    std::uint32_t last_calls = profile::kNone;
    bool last_stack_known = false;
    std::uint32_t last_labels = profile::kNone;
  };

  bool on_source(const wire::RawRecord& record);
  bool on_module(const wire::RawRecord& record);
  bool on_module_gone(const wire::RawRecord& record);
  bool on_thread(const wire::RawRecord& record);
  bool on_stack(const wire::RawRecord& record);
  bool on_tick(const wire::RawRecord& record);
  bool on_totals(const wire::RawRecord& record);
  bool on_end(const wire::RawRecord& record);
  bool on_user(const wire::RawRecord& record);
  bool on_difference(const wire::RawRecord& record);
  bool on_message(const wire::RawRecord& record);
  bool on_names(const wire::RawRecord& record);
  bool on_code(const wire::RawRecord& record);
  bool on_code_gone(const wire::RawRecord& record);
  bool on_function(const wire::RawRecord& record);
  bool on_runtime(const wire::RawRecord& record);
  bool on_probe(const wire::RawRecord& record);
  bool on_latency(const wire::RawRecord& record);
  bool on_stack_calls(const wire::RawRecord& record);
  bool on_call_end(const wire::RawRecord& record);
  bool on_labels(const wire::RawRecord& record);
  bool on_stack_labels(const wire::RawRecord& record);
  std::uint32_t labels_of_stack(std::uint64_t id) const;

  struct OpenCallHash {
    std::size_t operator()(const wire::OpenCall& call) const;
  };
  // Indexes in the Recording.
  std::uint32_t traced_of(std::uint64_t probe);
  std::uint32_t call_of(const wire::OpenCall& call);
  std::uint32_t process();
  Thread& thread_of(std::uint64_t thread_index);
  std::uint32_t resolve(const wire::FrameEntry& frame);
  void find_stack(Thread& thread, const wire::SampleEntry& entry, std::uint64_t flags,
                  profile::Sample& sample);
  void define_stack(std::uint64_t id, std::uint32_t stack, std::uint32_t calls);
  void add_sample(const wire::SampleEntry& entry, std::uint64_t flags, std::size_t first_of_tick);
  void complete_totals(profile::Process& process) const;
  void warn_of_losses(const profile::Process& process);
  std::string label();

  RecordingBuilder& builder_;
  FrameBuffer& frame_buffer_;
  const std::uint32_t number_;  // of the source, in its file
  std::uint32_t process_ = profile::kNone;
  std::uint64_t machine_ = 0;  // e_machine of ELF
  std::uint64_t start_monotonic_ns_ = 0;
  std::uint64_t now_ns_ = 0;                 // of the last tick, since the start
  std::map<std::uint64_t, Module> modules_;  // mapped now, by start address
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> functions_;  // index in the Recording, by number
  StackIds stacks_;
  StackIds call_sets_;                 // of the same ids: in which calls the stack is
  std::vector<std::uint32_t> traced_;  // index in the Recording, by line of the request
  std::unordered_map<wire::OpenCall, std::uint32_t, OpenCallHash> calls_;
  std::unordered_map<std::uint64_t, std::uint32_t> label_sets_;    // index in the Recording, by id
  std::unordered_map<std::uint64_t, std::uint32_t> stack_labels_;  // the same, by id of the stack
  bool stack_ids_reused_ = false;
  bool records_lost_ = false;
  bool ended_ = false;
  bool vanished_ = false;          // ended without an end record
  std::uint64_t stacks_lost_ = 0;  // samples whose stacks were in a damaged part

  // Counts of what was received; used if the process could not send its last totals.
  struct Received {
    std::uint64_t ticks = 0;
    std::uint64_t samples = 0;
    std::uint64_t samples_without_stack = 0;
    std::uint64_t stacks = 0;  // definitions
    std::uint64_t stacks_rooted = 0;
    std::uint64_t cpu_ns = 0;
  } received_;
};

}  // namespace swipr::importers
