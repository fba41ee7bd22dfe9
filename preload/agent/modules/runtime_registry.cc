#include "preload/agent/modules/runtime_registry.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/modules/files/maps_text.h"
#include "preload/agent/proc/thread_pointer.h"
#include "preload/runtimes/luajit/luajit_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/tid_in_pthread.h"
#include "preload/runtimes/unread_runtimes.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kSnapshotBytes = round_to_pages(sizeof(handler::RuntimeSnapshot));
constexpr std::size_t kSlotsBytes = round_to_pages(handler::kRuntimeSlotsBytes);

void write_version(const runtimes::PythonDetection& python, std::span<char> out) noexcept {
  TextWriter text(out);
  if (python.minor == 0) return;
  text.append("3.").append_number(python.minor);
  if (python.has_micro) text.append(".").append_number(python.micro);
}

// Java's code cache grows seldom, and a look costs about ten reads: unless a walk has met code that
// is not known, it is repeated ever more rarely.
constexpr std::chrono::milliseconds kRefreshPause{10};
constexpr std::chrono::milliseconds kMaxPause{160};
constexpr std::chrono::milliseconds kMaxStartPause{1000};  // while it is starting

// False: the image holds none.
bool detect_python(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  const runtimes::PythonDetection found =
      runtimes::detect_python(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kPython;
  runtime.python = found.runtime;
  write_version(found, runtime.version);
  runtime.is_starting = found.state == runtimes::DetectionState::kStarting;
  TextWriter(runtime.refusal).append(found.reason == nullptr ? "" : found.reason);
  return true;
}

// False: the image holds none. Until the machine is ready, it is refused for now.
bool detect_java(FoundRuntime& runtime, unwind::ImageReader image, ProcMemory& memory) noexcept {
  const runtimes::JavaDetection found =
      runtimes::detect_java(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kJava;
  runtime.java = found.runtime;
  const bool is_ready = found.state == runtimes::DetectionState::kFound &&
                        runtimes::refresh_java(runtime.java, memory.image_reader());
  const bool is_refused = found.state == runtimes::DetectionState::kRefused;
  runtime.is_starting = !is_ready && !is_refused;
  TextWriter refusal(runtime.refusal);
  if (is_ready) TextWriter(runtime.version).append_number(runtime.java.version);
  if (runtime.is_starting) refusal.append("its virtual machine is starting");
  if (is_refused) refusal.append("it does not describe ").append(found.reason);
  return true;
}

// False: the image holds none.
bool detect_v8(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  const runtimes::V8Detection found =
      runtimes::detect_v8(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kJavaScript;
  runtime.v8 = found.runtime;
  if (found.state == runtimes::DetectionState::kRefused) {
    TextWriter(runtime.refusal)
        .append(found.is_constant_missing ? "it does not describe " : "")
        .append(found.reason);
  }
  if (found.runtime.version.major == 0) return true;
  TextWriter text(runtime.version);
  text.append("V8 ");
  const runtimes::V8Version& version = found.runtime.version;
  for (const std::int32_t part : {version.major, version.minor, version.build, version.patch}) {
    if (text.view().back() != ' ') text.append(".");
    text.append_number(static_cast<std::uint64_t>(part));
  }
  return true;
}

// False: the image holds none.
bool detect_unread(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  const runtimes::UnreadRuntime* const found =
      runtimes::find_unread_runtime(runtime.dynamic, runtime.load_bias, image);
  if (found == nullptr) return false;
  runtime.language = found->language;
  TextWriter(runtime.version).append(found->name);
  TextWriter(runtime.refusal).append(found->reason);
  return true;
}

// The main thread runs Ruby first, and as long as the interpreter lives.
bool start_ruby(FoundRuntime& runtime, ProcMemory& memory) noexcept {
  return runtimes::start_ruby(runtime.ruby, runtime.header,
                              find_thread_pointer(Tid{::getpid()}, memory), memory.image_reader());
}

// False: the image holds none. Until it runs, it is refused for now.
bool detect_ruby(FoundRuntime& runtime, unwind::ImageReader image, ProcMemory& memory) noexcept {
  const runtimes::RubyDetection found =
      runtimes::detect_ruby(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kRuby;
  runtime.ruby = found.runtime;
  TextWriter(runtime.version).append(found.version);
  TextWriter refusal(runtime.refusal);
  if (found.state == runtimes::DetectionState::kRefused) {
    refusal.append(found.reason);
  } else if (runtime.is_starting = !start_ruby(runtime, memory); runtime.is_starting) {
    refusal.append("its main thread runs no Ruby");
  }
  return true;
}

// False: the image holds none.
bool detect_php(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  const runtimes::PhpDetection found =
      runtimes::detect_php(runtime.header, runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kPhp;
  runtime.php = found.runtime;
  const runtimes::PhpLayout& layout = found.runtime.layout;
  TextWriter version(runtime.version);
  if (layout.major != 0)
    version.append_number(layout.major).append(".").append_number(layout.minor);
  if (found.state == runtimes::DetectionState::kRefused) {
    TextWriter(runtime.refusal).append(found.reason);
  }
  return true;
}

// False: the image holds none. Until it runs, it is refused for now.
bool detect_perl(FoundRuntime& runtime, unwind::ImageReader image, ProcMemory& memory) noexcept {
  runtimes::PerlDetection found = runtimes::detect_perl(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  if (found.state == runtimes::DetectionState::kStarting) {
    const std::uint64_t thread_pointer = find_thread_pointer(Tid{::getpid()}, memory);
    runtimes::start_perl(found, thread_pointer, memory.image_reader());
  }
  runtime.language = Language::kPerl;
  runtime.perl = found.runtime;
  runtime.is_starting = found.state == runtimes::DetectionState::kStarting;
  TextWriter(runtime.version).append(found.version);
  TextWriter(runtime.refusal).append(found.reason == nullptr ? "" : found.reason);
  return true;
}

// False: the image holds none. Until it runs, it is refused for now.
bool detect_r(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  const runtimes::RDetection found = runtimes::detect_r(runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kR;
  runtime.r = found.runtime;
  runtime.is_starting = found.state == runtimes::DetectionState::kStarting;
  TextWriter(runtime.refusal).append(found.reason == nullptr ? "" : found.reason);
  return true;
}

// False: the image holds none.
bool detect_lua(FoundRuntime& runtime, unwind::ImageReader image) noexcept {
  runtimes::LuaDetection found =
      runtimes::detect_lua(runtime.header, runtime.dynamic, runtime.load_bias, image);
  if (found.state == runtimes::DetectionState::kAbsent) {
    found = runtimes::detect_luajit(runtime.header, runtime.dynamic, runtime.load_bias, image);
  }
  if (found.state == runtimes::DetectionState::kAbsent) return false;
  runtime.language = Language::kLua;
  runtime.lua = found.runtime;
  TextWriter(runtime.version).append(found.version.data());
  TextWriter(runtime.refusal).append(found.reason == nullptr ? "" : found.reason);
  return true;
}

// The first of all runtimes that the image holds. False: none. `memory`: for what changes while a
// machine starts.
bool detect(FoundRuntime& runtime, ProcMemory& memory) noexcept {
  runtimes::ObjectPieces pieces(memory.image_reader());  // all of them read the same few tables
  const unwind::ImageReader image = pieces.image_reader();
  return detect_python(runtime, image) || detect_java(runtime, image, memory) ||
         detect_v8(runtime, image) || detect_ruby(runtime, image, memory) ||
         detect_php(runtime, image) || detect_perl(runtime, image, memory) ||
         detect_r(runtime, image) || detect_lua(runtime, image) || detect_unread(runtime, image);
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
  if (count_ == kMost) return false;
  FoundRuntime& runtime = found_[count_];
  runtime = {.header = header, .dynamic = dynamic, .load_bias = load_bias, .seen = true};
  if (!detect(runtime, memory)) return false;
  if (!runtime.is_starting) runtime.id = ++last_id_;
  ++count_;
  return true;
}

void RuntimeRegistry::end_update() noexcept {
  FoundRuntime* const end =
      std::remove_if(found_.data(), found_.data() + count_,
                     [](const FoundRuntime& runtime) { return !runtime.seen; });
  count_ = static_cast<std::size_t>(end - found_.data());
  publish_chosen(choose());
}

bool RuntimeRegistry::refresh(ProcMemory& memory, Moment now, bool is_outdated) noexcept {
  FoundRuntime* const end = found_.data() + count_;
  FoundRuntime* const java = std::find_if(found_.data(), end, [this](const FoundRuntime& runtime) {
    return runtime.language == Language::kJava && runtime.id != 0 && runtime.id == published_;
  });
  const bool has_java = java != end;
  const bool is_one_starting = std::any_of(
      found_.data(), end, [](const FoundRuntime& runtime) { return runtime.is_starting; });
  if ((!has_java && !is_one_starting) || !memory.is_open()) return false;
  if (now < refreshed_at_ + (is_outdated && has_java ? kRefreshPause : refresh_pause_)) {
    return false;
  }
  refreshed_at_ = now;
  refresh_pause_ =
      std::clamp<Moment>(2 * refresh_pause_, kRefreshPause, has_java ? kMaxPause : kMaxStartPause);
  for (FoundRuntime* runtime = found_.data(); runtime != end; ++runtime) {
    if (runtime->is_starting && start(*runtime, memory)) return true;
  }
  if (has_java) refresh_java(*java, memory);
  return false;
}

void RuntimeRegistry::refresh_java(FoundRuntime& java, ProcMemory& memory) noexcept {
  const runtimes::JavaRuntime before = java.java;
  runtimes::ObjectPieces pieces(memory.image_reader());
  runtimes::refresh_java(java.java, pieces.image_reader());
  if (java.java == before) return;
  refresh_pause_ = kRefreshPause;
  if (!publish(&java)) java.java = before;  // next time
}

bool RuntimeRegistry::is_ruby_starting() const noexcept {
  return std::any_of(found_.data(), found_.data() + count_, [](const FoundRuntime& runtime) {
    return runtime.is_starting && runtime.language == Language::kRuby;
  });
}

// It gets the next id, and the last place: others may have been found meanwhile.
bool RuntimeRegistry::start(FoundRuntime& runtime, ProcMemory& memory) noexcept {
  detect(runtime, memory);
  if (runtime.is_starting) return false;
  refresh_pause_ = {};
  runtime.id = ++last_id_;
  std::rotate(&runtime, &runtime + 1, found_.data() + count_);
  publish_chosen(choose());
  return true;
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
    if (found_[at].is_refused()) continue;
    if (chosen == nullptr) {
      chosen = &found_[at];
    } else {
      TextWriter(found_[at].refusal).append("another interpreter of this process is read");
    }
  }
  return chosen;
}

void RuntimeRegistry::publish_chosen(const FoundRuntime* chosen) noexcept {
  const std::uint32_t id = chosen == nullptr ? 0 : chosen->id;
  if (id != published_ && publish(chosen)) published_ = id;
}

bool RuntimeRegistry::publish(const FoundRuntime* runtime) noexcept {
  if (retired_ != nullptr && handler::retired_maps_are_free()) free_retired();
  if (retired_ != nullptr) return false;
  handler::RuntimeSnapshot* next = nullptr;
  if (runtime != nullptr) {
    if (!offer_slots()) return false;
    void* const memory = map_memory(kSnapshotBytes);
    if (memory == nullptr) return false;
    next = new (memory) handler::RuntimeSnapshot{.language = runtime->language,
                                                 .python = runtime->python,
                                                 .java = runtime->java,
                                                 .v8 = runtime->v8,
                                                 .ruby = runtime->ruby,
                                                 .php = runtime->php,
                                                 .perl = runtime->perl,
                                                 .r = runtime->r,
                                                 .lua = runtime->lua,
                                                 .tid_in_pthread = runtimes::find_tid_in_pthread(),
                                                 .pthread_offset = runtimes::find_pthread_offset()};
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
