#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/callers/leaf_caller.h"
#include "preload/agent/sample/callers/plt_entry_aarch64.h"
#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

using machine::kInstructionBytes;

std::uint64_t call_target(std::uint32_t instruction, std::uint64_t address) noexcept {
  return unwind::direct_call_target(std::uint64_t{instruction} << 32, address + kInstructionBytes);
}

// Of the call before a return address; 0: there is no direct one.
std::uint64_t function_called_before(const ProcMemory& memory,
                                     std::uint64_t return_address) noexcept {
  std::array<std::uint32_t, 1> code{};
  const std::uint64_t address = return_address - kInstructionBytes;
  if (!memory.read(address, std::as_writable_bytes(std::span(code)))) return 0;
  const std::uint64_t target = call_target(code[0], address);
  if (target == 0) return 0;
  const std::uint64_t behind_plt = plt_target(memory, target);
  return behind_plt != 0 ? behind_plt : target;
}

// Searches the code of one function.
class CallSearch {
 public:
  CallSearch(const ProcMemory& memory, const unwind::CodeMap& map, std::uint64_t function,
             std::uint64_t leaf) noexcept
      : memory_(memory), map_(map), functions_(map, function), leaf_(leaf) {
    run(functions_.extent_of(function));
  }
  std::uint64_t call() const noexcept { return call_; }  // the address after it
  std::uint64_t jump() const noexcept { return jump_; }  // to another function
  std::uint64_t behind_jump() const noexcept { return behind_jump_; }

 private:
  void run(const Range<std::uint64_t>& code) noexcept {
    constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 10;
    constexpr std::size_t kPiece = 256;
    const std::uint64_t end = std::min(code.end, code.begin + kMostBytes);
    for (std::uint64_t address = code.begin; address < end;) {
      std::array<std::uint32_t, kPiece> piece;
      const std::size_t count = std::min(kPiece, (end - address) / kInstructionBytes);
      const auto words = std::span(piece).first(count);
      if (count == 0 || !memory_.read(address, std::as_writable_bytes(words))) return;
      for (const std::uint32_t word : words) {
        if (is_call_of_leaf(word, address)) {
          call_ = address + kInstructionBytes;
          return;
        }
        note_jump(word, address, code);
        address += kInstructionBytes;
      }
    }
  }
  // Entries of procedure linkage tables have no CFI.
  bool is_call_of_leaf(std::uint32_t word, std::uint64_t address) noexcept {
    const std::uint64_t target = call_target(word, address);
    if (target == 0 || target == leaf_) return target != 0;
    const Range<std::uint64_t> code = Functions(map_, target).extent_of(target);
    return code.end == 0 ? plt_target(memory_, target) == leaf_ : ends_in_leaf(target, code);
  }
  // A function of few instructions, of which the last one jumps there.
  bool ends_in_leaf(std::uint64_t function, const Range<std::uint64_t>& code) noexcept {
    std::array<std::uint32_t, 16> words{};
    const std::size_t count = (code.end - code.begin) / kInstructionBytes;
    const auto own = std::span(words).first(std::min(words.size(), count));
    if (code.begin != function || looks_left_ == 0) return false;
    --looks_left_;
    if (!memory_.read(function, std::as_writable_bytes(own))) return false;
    for (const std::uint32_t word : own) {
      if (machine::branch_target(word, function) == leaf_ &&
          !machine::is_conditional_branch(word)) {
        return true;
      }
      function += kInstructionBytes;
    }
    return false;
  }
  void note_jump(std::uint32_t word, std::uint64_t address,
                 const Range<std::uint64_t>& code) noexcept {
    const std::uint64_t target = machine::branch_target(word, address);
    if (target == 0 || jump_ != 0 || machine::is_conditional_branch(word) ||
        code.contains(target) || functions_.start_of(target) != target) {
      return;
    }
    jump_ = target;
    behind_jump_ = address + kInstructionBytes;
  }

  const ProcMemory& memory_;
  const unwind::CodeMap& map_;
  Functions functions_;  // of the part of its image that has a table
  std::uint64_t leaf_;
  std::uint64_t call_ = 0;
  std::uint64_t jump_ = 0;
  std::uint64_t behind_jump_ = 0;
  unsigned looks_left_ = 64;  // at functions that are called
};

LeafCall call_in(const ProcMemory& memory, const unwind::CodeMap& map, std::uint64_t function,
                 std::uint64_t leaf) noexcept {
  constexpr unsigned kMostJumps = 2;
  LeafCall found;
  for (unsigned jumps = 0;; ++jumps) {
    const CallSearch search(memory, map, function, leaf);
    found.behind = search.call();
    if (found.behind != 0 || search.jump() == 0 || jumps == kMostJumps) return found;
    if (jumps == 0) found.behind_jump = search.behind_jump();
    function = search.jump();
  }
}

// CFA and return address relative to the stack pointer.
bool is_plain_of_stack(const unwind::Rule* rule) noexcept {
  return rule != nullptr && rule->flags == 0 && rule->cfa_register == unwind::kStackRegister;
}
std::uint64_t cfa(const unwind::Rule& rule, std::uint64_t sp) noexcept {
  return sp + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
}
bool has_return_address_at(const unwind::Rule* rule, std::uint64_t sp,
                           std::uint64_t place) noexcept {
  return is_plain_of_stack(rule) && rule->saved_base != unwind::Rule::kKept &&
         cfa(*rule, sp) + static_cast<std::uint64_t>(std::int64_t{rule->saved_base}) == place;
}

}  // namespace

LeafCallers propose_leaf_callers(const ProcMemory& memory, const unwind::CodeMap& map,
                                 std::uint64_t pc, std::uint64_t sp) noexcept {
  LeafCallers callers;
  const Functions functions(map, pc);
  const unwind::Rule* const rule = functions.rule_at(pc);
  if (!is_plain_of_stack(rule) || rule->saved_base != unwind::Rule::kKept) return callers;
  callers.leaf = functions.start_of(pc);
  callers.stack = cfa(*rule, sp);
  std::array<std::uint64_t, std::tuple_size_v<decltype(callers.words)>> words{};
  if (!memory.read(callers.stack, std::as_writable_bytes(std::span(words)))) return callers;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::uint64_t outer = unwind::plain_return_address(words[at]);
    if (map.find(outer) == nullptr) continue;
    const std::uint64_t function = function_called_before(memory, outer);
    if (function == 0) continue;
    callers.words[callers.count++] = {callers.stack + at * sizeof words[0], function};
  }
  return callers;
}

LeafCall find_leaf_call(const ProcMemory& memory, const unwind::CodeMap& map,
                        const LeafCallers& callers) noexcept {
  LeafCall found;
  for (const LeafCallers::Word& word : std::span(callers.words).first(callers.count)) {
    const LeafCall call = call_in(memory, map, word.function, callers.leaf);
    const std::uint64_t at = call.behind - 1;
    if (call.behind == 0 ||
        !has_return_address_at(Functions(map, at).rule_at(at), callers.stack, word.place)) {
      continue;
    }
    if (found.behind != 0) return {};
    found = call;
  }
  return found;
}

}  // namespace swipr::agent
