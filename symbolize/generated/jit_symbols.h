// Names of generated code from perf maps and jitdump files.
// Source: tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt of the kernel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/core/addresses.h"

namespace swipr::symbolize {

class JitSymbols {
 public:
  struct Symbol {
    std::string name;
    std::uint32_t first_line = 0, line_count = 0;  // in lines_
  };
  struct Place {
    std::uint32_t symbol = 0;  // names what is there, and when: other code there has another one
    std::uint64_t offset = 0;  // bytes from the function's start
    std::string_view file;     // empty: unknown
    std::uint32_t line = 0;
  };

  // "START SIZE name" per line, hexadecimal. Maps have no times: the last line for an address
  // holds. Other lines are ignored.
  void add_perf_map(std::string_view text);
  // Loaded and moved code, with times of CLOCK_MONOTONIC. Reading ends at damage; earlier
  // records are kept. Returns false if it is not a jitdump file of this architecture.
  bool add_jitdump(std::span<const std::byte> bytes);
  // A range of code with its name and lines.  Lifetime: strings are those of the source.
  struct CodeLine {
    std::uint64_t offset = 0;  // from the code's start on; ascending
    std::uint32_t line = 0;
    std::string_view file;
  };
  struct Code {
    std::uint64_t begin = 0, size = 0;
    std::chrono::nanoseconds from = std::chrono::nanoseconds::min();   // always
    std::chrono::nanoseconds until = std::chrono::nanoseconds::max();  // forever
    std::string_view name;
    std::vector<CodeLine> lines;
    bool is_recorded = false;  // from the process itself, in its recording
  };
  void add_code(const Code& code);
  // All that was ever at these addresses, with the lines of just these, in an order in which it can
  // be added again. `addresses` ascend.
  std::vector<Code> code_at(std::span<const RuntimeAddr> addresses) const;

  // Call after all additions.
  void finish();

  // The last code added at the address that was valid at that time; none if it was removed.
  std::optional<Place> find(RuntimeAddr address, std::chrono::nanoseconds time) const;

  const std::string& name_of(std::uint32_t symbol) const { return symbols_[symbol].name; }
  bool empty() const { return loads_.empty(); }

 private:
  struct Load {
    std::uint64_t begin, end;
    std::chrono::nanoseconds from;
    std::uint32_t symbol;
    std::chrono::nanoseconds until = std::chrono::nanoseconds::max();
    bool is_recorded = false;
  };
  struct Line {
    std::uint64_t offset;
    std::uint32_t line;
    std::uint32_t file;
  };
  class DumpReader;

  // Returns false if the range is empty or if there are too many.
  bool add_load(std::uint64_t begin, std::uint64_t size, std::chrono::nanoseconds from,
                std::uint32_t symbol);
  std::span<const std::uint32_t> loads_at(RuntimeAddr address) const;
  std::uint32_t intern_file(std::string_view name);
  void sort_lines(std::uint32_t first);
  // nullptr: none is known.
  const Line* line_at(const Load& load, RuntimeAddr address) const;

  std::vector<Symbol> symbols_;
  std::vector<Line> lines_;
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::uint32_t> file_index_;
  std::vector<Load> loads_;
  // Disjoint pieces of the address space: piece i, from starts_[i] on, holds the loads
  // covering_[first_[i]] … covering_[first_[i + 1] - 1], in the order in which they came.
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> covering_;
};

}  // namespace swipr::symbolize
