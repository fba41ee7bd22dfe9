#include "preload/agent/modules/runtime_registry.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "preload/agent/base/fixed_text.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/modules/maps_text.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kSnapshotBytes = round_to_pages(sizeof(handler::RuntimeSnapshot));
constexpr std::size_t kSlotsBytes = round_to_pages(handler::kRuntimeSlotsBytes);

// Offset of the tid in libc's descriptor of a thread, to which the thread pointer points: the only
// place in its first 1 KiB with the number of this thread. 0: not found.
// Source: glibc, nptl/descr.h (struct pthread); it changes between versions and machines.
std::uint32_t find_tid_in_pthread() noexcept {
  constexpr std::uint32_t kBytes = 1024;
  const auto* const self = static_cast<const std::byte*>(__builtin_thread_pointer());
  const auto tid = static_cast<std::int32_t>(::syscall(SYS_gettid));
  std::uint32_t found = 0;
  for (std::uint32_t at = 0; at < kBytes; at += sizeof tid) {
    if (std::memcmp(self + at, &tid, sizeof tid) != 0) continue;
    if (found != 0) return 0;
    found = at;
  }
  return found;
}

void write_version(const runtimes::PythonDetection& python, std::span<char> out) noexcept {
  TextWriter text(out);
  if (python.minor == 0) return;
  text.append("3.").append_number(python.minor);
  if (python.has_micro) text.append(".").append_number(python.micro);
}

// Mapped once, and never unmapped: a handler may be about to use them.
bool offer_slots() noexcept {
  if (handler::runtime_shared.slots.load(std::memory_order_relaxed) != nullptr) return true;
  auto* const slots = static_cast<handler::RuntimeSlot*>(map_memory(kSlotsBytes));
  if (slots == nullptr) return false;
  handler::runtime_shared.slots.store(slots, std::memory_order_release);
  return true;
}

}  // namespace

void RuntimeRegistry::begin_update() noexcept {
  for (std::size_t at = 0; at < count_; ++at) found_[at].seen = false;
}

bool RuntimeRegistry::take(std::uint64_t header, Range<std::uint64_t> dynamic,
                           std::uint64_t load_bias, ProcMemory& memory) noexcept {
  FoundRuntime* const end = found_.data() + count_;
  FoundRuntime* const known =
      std::find_if(found_.data(), end, [header, dynamic](const FoundRuntime& runtime) {
        return runtime.header == header && runtime.dynamic == dynamic;
      });
  if (known != end) {
    known->seen = true;
    return true;
  }
  const runtimes::PythonDetection python =
      runtimes::detect_python(dynamic, load_bias, memory.image_reader());
  if (python.state == runtimes::PythonState::kAbsent || count_ == kMost) return false;
  FoundRuntime runtime{.id = ++last_id_,
                       .header = header,
                       .dynamic = dynamic,
                       .language = Language::kPython,
                       .python = python.runtime,
                       .seen = true};
  write_version(python, runtime.version);
  if (python.state == runtimes::PythonState::kRefused) runtime.refusal = python.reason;
  found_[count_++] = runtime;
  return true;
}

void RuntimeRegistry::end_update() noexcept {
  FoundRuntime* const end =
      std::remove_if(found_.data(), found_.data() + count_,
                     [](const FoundRuntime& runtime) { return !runtime.seen; });
  count_ = static_cast<std::size_t>(end - found_.data());
  const FoundRuntime* const chosen = choose();
  const std::uint32_t id = chosen == nullptr ? 0 : chosen->id;
  if (id != published_ && publish(chosen)) published_ = id;
}

void RuntimeRegistry::survey(ProcMemory& memory) noexcept {
  MappedArray<char> text;
  if (read_maps_text(text)) {
    std::uint64_t last = 0;
    for_each_code_mapping({text.data(), text.size()}, [&](const MapsLine&, std::uint64_t header) {
      if (header == 0 || header == last) return true;
      last = header;
      const unwind::BuildResult image = unwind::describe_image(header, memory.image_reader());
      take(header, image.dynamic, image.load_bias, memory);
      return true;
    });
  }
  text.release();
  choose();
}

// Not before the vanished ones are removed: one of them may have been the first.
const FoundRuntime* RuntimeRegistry::choose() noexcept {
  const FoundRuntime* chosen = nullptr;
  for (std::size_t at = 0; at < count_; ++at) {
    if (found_[at].refusal != nullptr) continue;
    if (chosen == nullptr) {
      chosen = &found_[at];
    } else {
      found_[at].refusal = "another interpreter of this process is read";
    }
  }
  return chosen;
}

bool RuntimeRegistry::publish(const FoundRuntime* runtime) noexcept {
  if (retired_ != nullptr && handler::retired_maps_are_free()) free_retired();
  if (retired_ != nullptr) return false;
  handler::RuntimeSnapshot* next = nullptr;
  if (runtime != nullptr) {
    if (!offer_slots()) return false;
    void* const memory = map_memory(kSnapshotBytes);
    if (memory == nullptr) return false;
    next = new (memory) handler::RuntimeSnapshot{runtime->python, find_tid_in_pthread()};
  }
  handler::runtime_shared.snapshot.store(next, std::memory_order_seq_cst);
  retired_ = current_;
  current_ = next;
  return true;
}

void RuntimeRegistry::free_retired() noexcept {
  if (retired_ != nullptr) unmap_memory(retired_, kSnapshotBytes);
  retired_ = nullptr;
}

void RuntimeRegistry::withdraw() noexcept {
  handler::runtime_shared.snapshot.store(nullptr, std::memory_order_seq_cst);
  published_ = 0;
}

void RuntimeRegistry::release() noexcept {
  auto* const slots = handler::runtime_shared.slots.load(std::memory_order_relaxed);
  if (slots != nullptr) ::madvise(slots, kSlotsBytes, MADV_DONTNEED);
  free_retired();
  if (current_ != nullptr) unmap_memory(current_, kSnapshotBytes);
  current_ = nullptr;
  count_ = 0;
}

}  // namespace swipr::agent
