#include "preload/labels/thread_context.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "common/core/errno_saver.h"

namespace swipr::labels {

constinit std::atomic<std::int64_t> context_offset{0};

namespace {

void add_hex(LabelSet& labels, std::string_view key, const std::uint8_t* bytes,
             std::size_t count) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  if (labels.count >= kMostLabels) return;
  Label& label = labels.labels[labels.count++];
  label.key_bytes = static_cast<std::uint8_t>(key.size());
  label.value_bytes = static_cast<std::uint8_t>(2 * count);
  std::memcpy(label.text, key.data(), key.size());
  char* out = label.text + key.size();
  for (std::size_t at = 0; at < count; ++at) {
    *out++ = kDigits[bytes[at] >> 4];
    *out++ = kDigits[bytes[at] & 15];
  }
}

bool is_zero(const std::uint8_t* bytes, std::size_t count) noexcept {
  std::uint8_t all = 0;
  for (std::size_t at = 0; at < count; ++at) all |= bytes[at];
  return all == 0;
}

bool has_key(const LabelSet& labels, std::string_view key) noexcept {
  for (std::uint32_t at = 0; at < labels.count; ++at) {
    if (labels.labels[at].key() == key) return true;
  }
  return false;
}

}  // namespace

// A label that the program has set itself counts.
void add_context(const ThreadContext& context, LabelSet& labels) noexcept {
  constexpr std::string_view kTrace = "trace_id";
  constexpr std::string_view kSpan = "span_id";
  if (context.valid != 1 || is_zero(context.trace_id, sizeof context.trace_id)) return;
  if (has_key(labels, kTrace) || has_key(labels, kSpan)) return;
  add_hex(labels, kTrace, context.trace_id, sizeof context.trace_id);
  add_hex(labels, kSpan, context.span_id, sizeof context.span_id);
}

void add_own_context(LabelSet& labels) noexcept {
  const std::int64_t offset = context_offset.load(std::memory_order_relaxed);
  if (offset == 0) [[likely]]
    return;
  const char* const variable = static_cast<const char*>(__builtin_thread_pointer()) + offset;
  void* record = nullptr;
  std::memcpy(&record, variable, sizeof record);
  if (record == nullptr) return;
  const ErrnoSaver errno_saver;
  ThreadContext context{};
  const iovec local{&context, sizeof context};
  const iovec remote{record, sizeof context};
  const long size = ::syscall(SYS_process_vm_readv, ::getpid(), &local, 1L, &remote, 1L, 0L);
  if (size == static_cast<long>(sizeof context)) add_context(context, labels);
}

}  // namespace swipr::labels
