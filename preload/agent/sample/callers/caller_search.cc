#include "preload/agent/sample/callers/caller_search.h"

#include <span>

#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

using unwind::WalkEnd;

unwind::Registers registers_of(std::uint64_t pc, std::uint64_t sp) noexcept {
  unwind::Registers registers;
  registers.values[unwind::kPcRegister] = pc;
  registers.values[unwind::kStackRegister] = sp;
  registers.known = unwind::bit_of(unwind::kPcRegister) | unwind::bit_of(unwind::kStackRegister);
  return registers;
}

// Candidates in two classes: after direct calls to the code, and after computed calls.
class Candidates {
 public:
  void add(CallSite::Kind site, const unwind::Registers* caller) noexcept {
    Class& own = site == CallSite::Kind::kDirect ? direct_ : computed_;
    ++own.count;
    if (caller == nullptr) return;
    own.caller = *caller;
  }
  std::optional<unwind::Registers> only() const noexcept {
    const Class& best = direct_.count != 0 ? direct_ : computed_;
    return best.count == 1 ? best.caller : std::nullopt;
  }

 private:
  struct Class {
    int count = 0;
    std::optional<unwind::Registers> caller;  // none: whether it is one remains unknown
  };
  Class direct_;
  Class computed_;
};

// Behind that word, if it is a pushed return address.
unwind::Registers caller_at(const unwind::StackWords& words, std::size_t index) noexcept {
  return registers_of(words.value(index), words.address(index) + sizeof(std::uint64_t));
}

}  // namespace

unwind::StackReader KeptStack::reader() noexcept {
  return {[](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
            return static_cast<KeptStack*>(state)->read_word(address, out);
          },
          this};
}

bool KeptStack::read_word(std::uint64_t address, std::uint64_t& out) noexcept {
  if (words_.read_word(address, out)) {
    if (const std::size_t index = words_.find(address); index != words_.count()) read_.add(index);
    return true;
  }
  // The code is unchanged.
  return map_.find(address) != nullptr &&
         memory_.read(address, std::as_writable_bytes(std::span(&out, 1)));
}

CallSite::Kind CallerSearch::site_before(const ProcMemory& memory, std::uint64_t return_address,
                                         const CodeGap& gap) noexcept {
  Known& known = known_[(return_address ^ return_address >> 10) % known_.size()];
  if (known.return_address != return_address || known.gap != gap.start()) {
    known = {return_address, gap.start(), find_call_into(memory, return_address, gap)};
  }
  // Another function in the same gap.
  const bool leads_past =
      known.site.kind == CallSite::Kind::kDirect && known.site.target > gap.pc();
  return leads_past ? CallSite::Kind::kNone : known.site.kind;
}

std::optional<unwind::Registers> CallerSearch::find(const ProcMemory& memory,
                                                    const unwind::CodeMap& map, const CodeGap& gap,
                                                    const unwind::Registers& callee,
                                                    const unwind::StackWords& words,
                                                    CallerWalk walk) noexcept {
  KeptStack stack(words, map, memory);
  if (auto caller = propose(memory, map, gap, callee, words);
      caller && walk.run(walk.state, *caller, stack) == WalkEnd::kRoot) {
    return caller;
  }
  // Elsewhere the place of a return address does not tell the caller's stack pointer.
  if (!unwind::kReturnAddressIsPushed) return std::nullopt;
  Candidates candidates;
  WordSet chain;  // of those that were found so far
  for (std::size_t index = 0; index < words.count(); ++index) {
    if (chain.has(index)) continue;
    const CallSite::Kind site = site_of(memory, map, gap, words.value(index));
    if (site == CallSite::Kind::kNone) continue;
    unwind::Registers caller = caller_at(words, index);
    stack.forget_reads();
    const WalkEnd end = walk.run(walk.state, caller, stack);
    if (end == WalkEnd::kRoot) {
      candidates.add(site, &caller);
      chain.add_all(stack.read_words());
    } else if (end == WalkEnd::kUnknownRegister || end == WalkEnd::kCut) {
      candidates.add(site, nullptr);
    }
  }
  return candidates.only();
}

bool CallerSearch::returns_to_top(const ProcMemory& memory, const CodeGap& gap,
                                  std::uint64_t return_address) noexcept {
  return site_before(memory, return_address, gap) != CallSite::Kind::kNone &&
         places_.find(memory, gap) == StackPlace{};
}

std::optional<unwind::Registers> CallerSearch::propose(const ProcMemory& memory,
                                                       const unwind::CodeMap& map,
                                                       const CodeGap& gap,
                                                       const unwind::Registers& callee,
                                                       const unwind::StackWords& words) noexcept {
  const std::optional<StackPlace> place = places_.find(memory, gap);
  if (!place || !callee.knows(place->reg)) return std::nullopt;
  const std::uint64_t at = callee.values[place->reg] + static_cast<std::uint64_t>(place->offset);
  std::uint64_t pc = 0;
  if (unwind::kReturnAddressIsPushed) {
    const std::size_t index = words.find(at);
    if (index == words.count()) return std::nullopt;
    pc = words.value(index);
  } else {
    const bool is_above = at >= callee.values[unwind::kStackRegister];
    if (!is_above || !callee.knows(unwind::kBaseRegister)) return std::nullopt;
    pc = unwind::plain_return_address(callee.values[unwind::kBaseRegister]);
  }
  if (site_of(memory, map, gap, pc) == CallSite::Kind::kNone) return std::nullopt;
  return registers_of(pc, unwind::kReturnAddressIsPushed ? at + sizeof at : at);
}

CallSite::Kind CallerSearch::site_of(const ProcMemory& memory, const unwind::CodeMap& map,
                                     const CodeGap& gap, std::uint64_t return_address) noexcept {
  return map.find(return_address - 1) == nullptr ? CallSite::Kind::kNone
                                                 : site_before(memory, return_address, gap);
}

}  // namespace swipr::agent
