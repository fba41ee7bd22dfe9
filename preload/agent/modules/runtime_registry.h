// Language runtimes among the images of the process. The first whose frames can be read is
// published to handlers; further ones, unknown versions and implementations whose frames nobody
// reads are refused with a reason, which says what helps. Java and Ruby are mapped before they are
// ready, and Java's code cache grows: refresh(). Context: control thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "common/core/runtime_frame.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/handler/runtime_slots.h"
#include "preload/runtimes/python/python_layout.h"

namespace swipr::agent {

struct FoundRuntime {
  std::uint32_t id = 0;            // from 1, ascending; 0: it is starting, and refused until then
  std::uint64_t header = 0;        // run-time address of the image's ELF header
  Range<std::uint64_t> dynamic{};  // tells it from another image that took its place
  Language language = Language::kNative;
  char version[20] = {};  // "3.11.2"; empty: unknown
  char refusal[96] = {};  // why its frames are not read; empty: they are
  std::uint64_t load_bias = 0;
  runtimes::PythonRuntime python{};
  runtimes::JavaRuntime java{};
  runtimes::V8Runtime v8{};
  runtimes::RubyRuntime ruby{};
  runtimes::PhpRuntime php{};
  runtimes::PerlRuntime perl{};
  runtimes::RRuntime r{};
  runtimes::LuaRuntime lua{};
  bool is_starting = false;
  bool seen = false;  // in the current update

  bool is_refused() const noexcept { return refusal[0] != '\0'; }
};

class RuntimeRegistry {
 public:
  static constexpr std::size_t kMost = 8;  // further ones are ignored

  // Between begin_update and end_update: take() for each current image. True: it has a runtime.
  void begin_update() noexcept;
  bool take(std::uint64_t header, Range<std::uint64_t> dynamic, std::uint64_t load_bias,
            ProcMemory& memory) noexcept;
  // Publishes the runtime to handlers. It stays as it was while there is no memory, or a handler
  // still uses the one before the last.
  void end_update() noexcept;
  // Reads again what changes while a virtual machine runs, if that is due. True: one has started.
  // `is_outdated`: a walk has met Java's code where the published runtime has none.
  bool refresh(ProcMemory& memory, Moment now, bool is_outdated) noexcept;
  // Instead of updates, in a registry that is used for nothing else: finds the runtimes of all
  // images and publishes none.  Blocks: some milliseconds for hundreds of images.
  void survey(ProcMemory& memory) noexcept;
  // Handlers do not use any retired code map: frees what they could have used with them.
  void free_retired() noexcept;
  // Handlers that start from now on find no runtime.
  void withdraw() noexcept;
  // After that, when no handler uses any code map.
  void release() noexcept;

  // Ruby is mapped and its main thread has not run any yet.
  bool is_ruby_starting() const noexcept;
  std::span<const FoundRuntime> runtimes() const noexcept { return {found_.data(), count_}; }
  // What handlers use; nullptr: there is no runtime.
  const handler::RuntimeSnapshot* current() const noexcept { return current_; }

 private:
  // Refuses all but the first whose frames can be read. nullptr: there is none.
  const FoundRuntime* choose() noexcept;
  void publish_chosen(const FoundRuntime* chosen) noexcept;
  bool start(FoundRuntime& runtime, ProcMemory& memory) noexcept;
  void refresh_java(FoundRuntime& java, ProcMemory& memory) noexcept;
  bool publish(const FoundRuntime* runtime) noexcept;

  std::array<FoundRuntime, kMost> found_{};
  std::size_t count_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint32_t published_ = 0;  // id; 0: none
  handler::RuntimeSnapshot* current_ = nullptr;
  handler::RuntimeSnapshot* retired_ = nullptr;
  Moment refreshed_at_{0};
  Moment refresh_pause_{0};
};

}  // namespace swipr::agent
