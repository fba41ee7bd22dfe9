// The functions of this process that are or were traced. A function is attached while recordings
// use it; what cannot be removed at once, because the program forks or unloads a library, is
// removed later.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/wire/traced_calls.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/modules/module_map.h"
#include "preload/trace/calls/calls.h"
#include "preload/trace/search/function_search.h"
#include "preload/trace/traced_function.h"

namespace swipr::agent {

// The run-time address that a line of a request means. 0: the process has no such file.
std::uint64_t address_of(const wire::ProbeRequest& place, const ModuleMap& modules) noexcept;

// What became of a request for a function.
struct ProbeAnswer {
  wire::ProbeReason reason = wire::ProbeReason::kNone;
  std::uint32_t probe = 0;  // of the table, if it is attached
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t strings = 0;  // of its slow calls (wire::read_strings)
  FixedText<192> text;        // follows "because"
  bool is_attached() const noexcept { return reason == wire::ProbeReason::kNone; }
};

class ProbeTable {
 public:
  // Before the functions of a request. `signal`: swipr's, whose handler is installed; 0: it is not.
  // nullptr, or why nothing can be traced in this process. Blocks: 10 ms for the first one.
  const char* prepare(const ModuleMap& modules, ProcMemory& memory, int signal) noexcept;
  // A user more of the function, if it can be traced. Blocks: a second.
  // `sites`: only calls that return to one of them are measured; none: all.
  void add(const wire::ProbeRequest& wanted, std::span<const std::uint64_t> sites,
           const ModuleMap& modules, ProcMemory& memory, ProbeAnswer& answer) noexcept;
  // A user less.
  void remove(std::uint32_t probe) noexcept;

  // The function's module was unmapped, or another one is in its place.
  bool is_gone(std::uint32_t probe, const ModuleMap& modules, ProcMemory& memory) const noexcept;

  // When retry() has to be called.
  Moment retry_at() const noexcept { return needs_retry_ ? retry_at_ : kNever; }
  void retry(Moment now) noexcept;
  // Signals may be pending that no thread has answered: the handler has to stay.
  bool has_left_signals() const noexcept { return has_left_signals_; }

  // In the child of a fork, in its only thread: nobody uses a function any more.
  void forget_users() noexcept;

 private:
  struct Entry {
    trace::TracedFunction function;
    std::uint64_t image = 0;  // its ELF header
    std::uint32_t users = 0;
  };
  Entry* find_or_add(const trace::Function& function, const trace::Plan& plan,
                     ProbeAnswer& answer) noexcept;
  void attach(Entry& entry, std::span<const std::uint64_t> sites, ProbeAnswer& answer) noexcept;
  void detach(Entry& entry) noexcept;

  static constexpr std::size_t kMostTold = 32;

  std::array<Entry, trace::kProbeCount> entries_{};
  std::uint32_t count_ = 0;
  bool needs_retry_ = false;  // all zero: no part of it is in the library's file
  Moment retry_at_{0};
  bool has_left_signals_ = false;
};

// The only one: it outlives recordings, and is what a child of a fork inherits.
ProbeTable& probe_table() noexcept;

}  // namespace swipr::agent
