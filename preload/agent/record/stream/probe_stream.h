// The traced functions of one recording: what they have counted since, and what the stream has of
// it. Context: control thread.
#pragma once

#include <cstdint>

#include "common/wire/traced_calls.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/probes/probe_table.h"
#include "preload/agent/record/stream/stream_writer.h"

namespace swipr::agent {

class ProbeStream {
 public:
  // For `count` functions. False: no memory.
  [[nodiscard]] bool create(std::size_t count, std::uint32_t budget_permille,
                            std::chrono::nanoseconds interval) noexcept;
  // Detaches all, without writing.
  void release() noexcept;
  bool is_open() const noexcept { return probes_ != nullptr; }
  bool any_attached() const noexcept;

  // The answer for the next function of the request.
  void add(const ProbeAnswer& answer, StreamWriter& stream, Moment start) noexcept;

  // --- while it runs. `start` is the recording's: times count from it.
  bool is_due(Moment now) const noexcept { return any_attached() && now >= due_; }
  // LATENCY of each function that is attached.
  void write(StreamWriter& stream, Moment start, Moment now) noexcept;
  // When check() has to be called.
  Moment check_at() const noexcept { return any_attached() ? check_at_ : kNever; }
  // Detaches functions whose calls cost more than the budget.
  void check(StreamWriter& stream, Moment start, Moment now) noexcept;
  // Detaches functions whose modules were unmapped.
  void drop_gone(const ModuleMap& modules, ProcMemory& memory, StreamWriter& stream,
                 Moment start) noexcept;
  // Detaches all, and writes what is left.
  void finish(StreamWriter& stream, Moment start) noexcept;

 private:
  struct Probe;

  void write_latency(std::size_t line, StreamWriter& stream, Moment start, Moment now) noexcept;
  void detach(std::size_t line, wire::ProbeReason reason, std::string_view text,
              StreamWriter& stream, Moment start) noexcept;
  std::uint64_t measure(Moment now, Probe*& costliest) noexcept;
  void tell_threads_left_out(StreamWriter& stream) noexcept;

  Probe* probes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::uint32_t budget_permille_ = 0;
  std::chrono::nanoseconds interval_{0};
  Moment due_{0};
  Moment check_at_{0};
  Moment checked_{0};
  bool was_above_ = false;
  std::uint32_t threads_left_out_ = 0;
};

}  // namespace swipr::agent
