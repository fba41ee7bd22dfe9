// Targets of the call instructions before return addresses.
// Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/core/range.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/machine/instruction_bytes.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

bool read_code(const ProcMemory& memory, std::uint64_t address,
               std::span<std::uint8_t> out) noexcept;
// As words.
inline bool read_code(const ProcMemory& memory, std::uint64_t address,
                      std::span<std::uint32_t> out) noexcept {
  return read_code(memory, address,
                   std::span(reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()));
}
// 0: unreadable.
std::uint64_t read_pointer(const ProcMemory& memory, std::uint64_t address) noexcept;

// A piece of code, with room for its last instruction to be decoded.
class Code {
 public:
  static constexpr std::size_t kPieceBytes = 4096;
  // From `begin` up to `end`, or what fits.
  Code(const ProcMemory& memory, std::uint64_t begin, std::uint64_t end) noexcept;
  bool is_inside(std::size_t at) const noexcept { return at < size_; }
  std::uint64_t address(std::size_t at) const noexcept { return begin_ + at; }
  std::span<const std::uint8_t> from(std::size_t at) const noexcept {
    return std::span(bytes_).subspan(at, machine::kLongestInstruction);
  }

 private:
  std::uint64_t begin_;
  std::size_t size_ = 0;
  std::uint8_t bytes_[kPieceBytes + machine::kLongestInstruction] = {};
};

// Code without CFI in an image that has CFI: everything between two FDEs.
class CodeGap {
 public:
  // nullopt: the code at `pc` has CFI, or its image has none.
  static std::optional<CodeGap> find(const unwind::CodeMap& map, std::uint64_t pc) noexcept;
  bool contains(std::uint64_t address) const noexcept;
  // End of the previous function, or of the image's CFI: identifies the gap.
  std::uint64_t start() const noexcept { return start_; }
  std::uint64_t pc() const noexcept { return pc_; }

 private:
  CodeGap(const unwind::CodeRange& range, const unwind::UnwindTable& table,
          std::uint64_t pc) noexcept
      : range_(&range), table_(&table), pc_(pc), start_(start_of(pc)) {}
  std::uint64_t start_of(std::uint64_t address) const noexcept;

  const unwind::CodeRange* range_;
  const unwind::UnwindTable* table_;
  std::uint64_t pc_;
  std::uint64_t start_;
};

// The functions that have CFI in the part of an image around an address. A part has all of each
// function that it has some of.
class Functions {
 public:
  // None if the table is not built.
  Functions(const unwind::CodeMap& map, std::uint64_t address) noexcept;
  // 0: no FDE covers it.
  std::uint64_t start_of(std::uint64_t address) const noexcept;
  // From there up to the next function; empty: no FDE covers it.
  Range<std::uint64_t> extent_of(std::uint64_t address) const noexcept;
  // nullptr: no CFI.
  const unwind::Rule* rule_at(std::uint64_t address) const noexcept;

 private:
  const unwind::UnwindTable* table_ = nullptr;
  std::uint64_t load_bias_ = 0;
};

struct CallSite {
  enum class Kind : std::uint8_t {
    kNone,      // no call there can have this target
    kDirect,    // a call that names it, also through the PLT or a function that ends in a jump
    kComputed,  // a call through a register or a computed address: it can have had any target
  };
  Kind kind = Kind::kNone;
  std::uint64_t target = 0;  // kDirect: its target
};
// Whether the bytes before a return address are a call to the function, or into the gap.
CallSite find_call_of(const ProcMemory& memory, std::uint64_t return_address,
                      std::uint64_t function) noexcept;
CallSite find_call_into(const ProcMemory& memory, std::uint64_t return_address,
                        const CodeGap& gap) noexcept;

// Whether they are a call at all, direct or through a pointer.
bool follows_call(const ProcMemory& memory, const unwind::CodeMap& map,
                  std::uint64_t return_address) noexcept;

}  // namespace swipr::agent
