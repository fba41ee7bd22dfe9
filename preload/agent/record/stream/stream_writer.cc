#include "preload/agent/record/stream/stream_writer.h"

#include <optional>

#include "preload/agent/base/log.h"
#include "preload/agent/record/stream/growth.h"

namespace swipr::agent {

namespace {

// Bounds of a definition and of one frame on the wire: varints of at most 10 bytes.
constexpr std::size_t kFrameBytes = 11;
constexpr std::size_t kStackBytes = 128;

// Static: 32 KiB that only the control thread uses, instead of on its stack. Until the next call.
std::span<const wire::FrameEntry> entries_of(const std::uint64_t* pcs, const std::uint8_t* kinds,
                                             std::uint32_t count) noexcept {
  static wire::FrameEntry frames[wire::kMaxFrames];
  for (std::uint32_t frame = 0; frame < count; ++frame) {
    frames[frame] = {.pc = pcs[frame],
                     .source = static_cast<wire::FrameSource>(kinds[frame] & 3),
                     .exact = (kinds[frame] & 4) != 0};
  }
  return {frames, count};
}

void encode_found(wire::Encoder& out, std::uint64_t id,
                  const libunwind::FoundStack& stack) noexcept {
  const auto frame_count = static_cast<std::uint32_t>(stack.pcs.size());
  const wire::StackRecord record{.stack_id = id,
                                 .flags = stack.flags,
                                 .omitted_at = stack.omitted_at,
                                 .frame_count = frame_count};
  wire::encode(out, record, entries_of(stack.pcs.data(), stack.kinds.data(), frame_count));
}

std::optional<std::uint64_t> lock_of(const StoredStack& stack) noexcept {
  return is_library_lock(stack.wait.runtime.kind) ? std::optional(stack.wait.lock) : std::nullopt;
}

}  // namespace

bool StreamWriter::create(OutputQueue& output, std::uint32_t max_stacks) noexcept {
  return blocks_.create(output) && stacks_.create(max_stacks);
}

void StreamWriter::release() noexcept {
  blocks_.release();
  stacks_.release();
  labels_.release();
  functions_.release();
}

bool StreamWriter::write_message(wire::MessageLevel level, std::string_view text) noexcept {
  const bool warning = level != wire::MessageLevel::kNote;
  log_line(warning ? LogLevel::kWarning : LogLevel::kInfo, "about a recording", text);
  return put_record(wire::MessageRecord{.level = level, .text = text});
}

bool StreamWriter::introduce(ThreadInStream& known, const Thread& thread,
                             std::int64_t start_ns) noexcept {
  if (known.name_version == thread.name_version + 1) return true;
  const wire::ThreadRecord record{.thread_index = known.index,
                                  .tid = static_cast<std::uint64_t>(known.tid.value),
                                  .start_ns = growth(0, start_ns),
                                  .name = thread.name_text()};
  if (!put_record(record)) return false;
  known.name_version = thread.name_version + 1;
  return true;
}

bool StreamWriter::define_ahead(std::uint32_t stack) noexcept {
  if (const std::uint32_t base = base_of(stack); base != 0) return define_ahead(base);
  if (definition_bytes(stack) <= blocks_.max_bytes() / 2) return true;
  return functions_.define_ahead(blocks_, stacks_.stack(stack));
}

void StreamWriter::define(wire::Encoder& out, std::uint32_t stack) noexcept {
  if (stack == 0) return;
  StoredStack& stored = stacks_.stack(stack);
  if (stored.defined || stored.defining) return;
  stored.defining = true;
  if (stored.base != 0) {
    define(out, stored.base);
    return encode_stack_calls(out, stored);
  }
  functions_.define(out, stored);
  encode_stack(out, stored);
  labels_.define(out, stack, stored.wait.labels);
}

void StreamWriter::settle_definition(std::uint32_t stack, bool written) noexcept {
  if (stack == 0) return;
  StoredStack& stored = stacks_.stack(stack);
  if (stored.defining && written) stored.defined = true;
  if (stored.base != 0) settle_definition(stored.base, written);
  if (stored.defining && stored.base == 0) {
    functions_.settle(stored, written);
    labels_.settle(stored.wait.labels, written);
  }
  stored.defining = false;
}

std::size_t StreamWriter::definition_bytes(std::uint32_t stack) noexcept {
  if (stack == 0 || stacks_.stack(stack).defined) return 0;
  const StoredStack& stored = stacks_.stack(stack);
  const std::size_t bytes = kStackBytes + kFrameBytes * stored.frame_count;
  if (stored.base != 0) return 2 * bytes + definition_bytes(stored.base);
  return bytes + functions_.definition_bytes(stored) + labels_.definition_bytes(stored.wait.labels);
}

std::uint32_t StreamWriter::base_of(std::uint32_t stack) noexcept {
  return stack == 0 ? 0 : stacks_.stack(stack).base;
}

void StreamWriter::encode_stack_calls(wire::Encoder& out, const StoredStack& stack) noexcept {
  wire::StackCallsRecord record{.stack_id = stack.id, .base_id = stack.base};
  const std::span words(stack.pcs(), stack.frame_count);
  for (std::size_t at = 0; at + 1 < words.size(); at += 2) {
    record.calls[record.call_count++] = unpack_call(words[at], words[at + 1]);
  }
  wire::encode(out, record);
}

void StreamWriter::encode_stack(wire::Encoder& out, const StoredStack& stack) noexcept {
  const wire::StackRecord record{.stack_id = stack.id,
                                 .flags = stack.flags,
                                 .wait_syscall = stack.wait.syscall,
                                 .omitted_at = stack.omitted_at,
                                 .wait_channel = wait_channels_ == nullptr
                                                     ? std::string_view{}
                                                     : wait_channels_->name(stack.wait.channel),
                                 .runtime_wait = stack.wait.runtime.kind,
                                 .holder_tid = stack.wait.runtime.holder_tid,
                                 .wait_object = functions_.name(stack.wait.runtime.type),
                                 .lock = lock_of(stack)};
  wire::encode(out, record, entries_of(stack.pcs(), stack.kinds(), stack.frame_count));
}

StreamWriter::Compared StreamWriter::write_differences() noexcept {
  if (differences_ == nullptr) return {};
  Compared compared{differences_->compared(), differences_->equal(), differences_->left_out()};
  differences_->for_each([&](std::uint32_t number, std::uint64_t count,
                             const libunwind::FoundStack& own, const libunwind::FoundStack& other) {
    const std::uint64_t id = wire::kFirstDifferenceId + 2 * std::uint64_t{number};
    const bool is_new = number >= told_differences_;
    const bool written = put([&](wire::Encoder& out) {
      if (is_new) encode_found(out, id, own);
      if (is_new) encode_found(out, id + 1, other);
      wire::encode(out, wire::DifferenceRecord{id, id + 1, count});
    });
    if (written && number == told_differences_) ++told_differences_;
    if (number >= told_differences_) compared.left_out += count;
  });
  return compared;
}

}  // namespace swipr::agent
