// The stream of one recording: records in blocks, the stacks and threads that they refer to, and
// messages. It does not interpret the records. Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/format.h"
#include "preload/agent/libunwind/differences.h"
#include "preload/agent/record/stream/block_writer.h"
#include "preload/agent/record/stream/function_stream.h"
#include "preload/agent/record/stream/label_table.h"
#include "preload/agent/record/stream/stack_table.h"
#include "preload/agent/threads/thread.h"

namespace swipr::agent {

// The thread in the stream. Owner: StreamWriter, and for the last entry ThreadAccounts.
struct ThreadInStream {
  std::uint32_t index = 0;
  Tid tid;                         // kept here: the list of threads forgets those that have ended
  std::uint32_t name_version = 0;  // 0: not yet introduced
  std::uint32_t stack = 0;         // of the last entry
  std::uint32_t generation = 0;
  std::int64_t tick_ns = 0;  // time of the tick record that holds the last entry
};

class StreamWriter {
 public:
  // False: no memory. `output` outlives the writer.
  [[nodiscard]] bool create(OutputQueue& output, std::uint32_t max_stacks) noexcept;
  void release() noexcept;

  // BlockWriter::put.
  template <typename Encode>
  bool put(Encode&& encode) noexcept {
    return blocks_.put(encode);
  }
  // False: no room, nothing of it is written.
  template <typename Record>
  bool put_record(const Record& record) noexcept {
    return blocks_.put([&record](wire::Encoder& out) { encode(out, record); });
  }
  bool flush() noexcept { return blocks_.flush(); }
  bool is_worth_sending() const noexcept {
    return blocks_.pending_bytes() >= BlockWriter::kWorthSendingBytes;
  }
  bool write_message(wire::MessageLevel level, std::string_view text) noexcept;

  // --- threads
  // Writes the thread's record if the stream lacks it or its current name. False: the stream does
  // not have it.
  bool introduce(ThreadInStream& known, const Thread& thread, std::int64_t start_ns) noexcept;

  // --- stacks
  StackTable& stacks() noexcept { return stacks_; }
  const StackTable& stacks() const noexcept { return stacks_; }
  // Ids of sets of labels, in stacks.
  LabelTable& labels() noexcept { return labels_; }
  // Outlives the recording. Before the first stack.
  void set_wait_channels(const WaitChannels& channels) noexcept { wait_channels_ = &channels; }
  // Outlives the recording. Before the first stack.
  void set_functions(const FunctionTable& functions) noexcept {
    functions_.set_functions(functions);
  }
  // Writes the functions of a definition that may be too large for a block, before `put`. False: no
  // room now.
  bool define_ahead(std::uint32_t stack) noexcept;
  // Within `put`: defines the stack if neither the stream nor these bytes do. Afterwards call
  // settle_definition for each.
  void define(wire::Encoder& out, std::uint32_t stack) noexcept;
  // Definitions in written bytes are valid; those in bytes that were rolled back are not.
  void settle_definition(std::uint32_t stack, bool written) noexcept;
  // Approximate number of bytes that `define` needs.
  std::size_t definition_bytes(std::uint32_t stack) noexcept;

  // --- differences between two unwinders
  // Outlives the recording.
  void set_differences(const libunwind::Differences& differences) noexcept {
    differences_ = &differences;
  }
  struct Compared {
    std::uint64_t stacks = 0;
    std::uint64_t equal = 0;
    std::uint64_t left_out = 0;
  };
  // Writes stacks once, counts each time. Data without room is written the next time.
  Compared write_differences() noexcept;

 private:
  void encode_stack(wire::Encoder& out, const StoredStack& stack) noexcept;
  void encode_stack_calls(wire::Encoder& out, const StoredStack& stack) noexcept;
  std::uint32_t base_of(std::uint32_t stack) noexcept;

  BlockWriter blocks_;
  StackTable stacks_;
  LabelTable labels_;
  FunctionStream functions_;
  const WaitChannels* wait_channels_ = nullptr;
  const libunwind::Differences* differences_ = nullptr;
  std::uint32_t told_differences_ = 0;  // whose stacks are in the stream
};

}  // namespace swipr::agent
