// Labels that the program gives to its threads: those of running threads come with their answers,
// those of sleeping ones are read here.
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/proc/thread_pointer.h"
#include "preload/agent/sample/sampler.h"
#include "preload/handler/label_slots.h"
#include "preload/labels/thread_context.h"
#include "preload/unwind/image/tls_offset.h"

namespace swipr::agent {

namespace {

constexpr std::int64_t kUnknown = 0;

// Where libc keeps a thread's tid, as a distance from its thread pointer: its struct pthread begins
// there or, where the ABI has thread-local variables above the pointer, ends there. 0: not found.
std::int64_t find_tid_in_thread(const ProcMemory& memory) noexcept {
#if defined(__x86_64__)
  constexpr std::int64_t kBegin = 0, kEnd = 1024;
#else
  constexpr std::int64_t kBegin = -2304, kEnd = 0;
#endif
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  const auto own = static_cast<std::int32_t>(::syscall(SYS_gettid));
  std::int64_t found = kUnknown;
  for (std::int64_t at = kBegin; at < kEnd; at += sizeof own) {
    std::int32_t value = 0;
    const auto address = pointer + static_cast<std::uint64_t>(at);
    if (!memory.read(address, std::as_writable_bytes(std::span(&value, 1)))) continue;
    if (value != own) continue;
    if (found != kUnknown) return kUnknown;
    found = at;
  }
  return found;
}

}  // namespace

// Mapped once, and never unmapped: a handler may be about to use them.
void Sampler::offer_label_slots() noexcept {
  const bool is_needed = labels::are_in_use() || labels::context_offset.load() != 0;
  if (!is_needed || handler::label_slots.load(std::memory_order_relaxed) != nullptr) return;
  constexpr std::size_t kBytes = round_to_pages(handler::kLabelSlotsBytes);
  auto* const slots = static_cast<labels::LabelSet*>(map_memory(kBytes, Lifetime::kProcess));
  handler::label_slots.store(slots, std::memory_order_release);
}

// libc, or the kernel for it, sets the tid in a thread's memory to 0 when the thread ends. If the
// memory serves another thread since, its thread-local variables begin at 0.
// Source: glibc, nptl/pthread_create.c (CLONE_CHILD_CLEARTID); musl, src/thread/pthread_create.c.
bool Sampler::is_of_live_thread(const labels::LabelPlace& place, Tid tid) noexcept {
  if (!tid_in_thread_) tid_in_thread_ = find_tid_in_thread(process_.memory);
  std::uint64_t value = 0;
  std::int32_t owner = 0;
  const std::uint64_t tid_at = place.thread_pointer + static_cast<std::uint64_t>(*tid_in_thread_);
  return *tid_in_thread_ != kUnknown &&
         process_.memory.read(place.pointer, std::as_writable_bytes(std::span(&value, 1))) &&
         process_.memory.read(tid_at, std::as_writable_bytes(std::span(&owner, 1))) &&
         value == place.value && owner == tid.value;
}

// OpenTelemetry's SDKs publish a variable; searched for when code appears, and again while it is
// not resolved. The first image in the order of addresses counts.
void Sampler::find_context(Moment now) noexcept {
  constexpr std::chrono::seconds kPause{1};
  const bool is_changed = context_modules_ != process_.modules.change_count();
  if (now < context_due_ || !(is_changed || awaits_context_)) return;
  context_modules_ = process_.modules.change_count();
  context_due_ = now + kPause;
  const std::uint64_t program = ::getauxval(AT_PHDR);
  awaits_context_ = false;
  std::int64_t offset = 0;
  for (const Module& module : process_.modules.modules()) {
    const Image* const image =
        module.id != 0 && !module.gone ? process_.modules.image_of(module) : nullptr;
    if (image == nullptr || image->described.dynamic.empty()) continue;
    const bool is_program = program - image->header < kPageBytes;
    const unwind::TlsOffset found = unwind::find_tls_offset(
        {image->header, image->described.load_bias, image->described.dynamic, is_program},
        labels::kContextVariable, process_.memory.image_reader());
    if (!found.is_exported) continue;
    offset = found.offset;
    awaits_context_ = offset == 0;
    if (offset != 0) break;
  }
  labels::context_offset.store(offset);
}

void Sampler::read_context_of_sleeper(Tid tid) noexcept {
  const std::int64_t offset = labels::context_offset.load();
  const std::uint64_t pointer = offset == 0 ? 0 : find_thread_pointer(tid, process_.memory);
  if (pointer == 0) return;
  const unwind::ImageReader reader = process_.memory.image_reader();
  std::uint64_t record = 0;
  labels::ThreadContext context{};
  if (reader.read_value(pointer + static_cast<std::uint64_t>(offset), record) && record != 0 &&
      reader.read_value(record, context)) {
    labels::add_context(context, labels_);
  }
}

// Afterwards the thread's clock has to show that it slept meanwhile.
void Sampler::read_labels_of_sleeper(Thread& thread) noexcept {
  labels_.count = 0;
  const labels::LabelPlace place = labels::find_place(thread.tid, thread.looks.label_place);
  if (place.number != labels::kMostThreads) {
    thread.looks.label_place = place.number;
    if (is_of_live_thread(place, thread.tid)) labels::copy_labels(place.number, labels_);
  }
  read_context_of_sleeper(thread.tid);
}

}  // namespace swipr::agent
