// What a walk asks about the program's code: whether it is still what a table describes, and what
// called it. If the reader must not read code, the answer is assumed, and what it claims is
// recorded in the frames (code_claims.h). Context: signal handler or control thread.
#pragma once

#include <cstdint>

#include "common/core/addresses.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/leaf_end.h"
#include "preload/unwind/walk/loop/hot_registers.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

// `Reader` as in walk_loop.h. `index`: of the frame in the walk.
template <typename Reader>
class CodeChecks {
 public:
  CodeChecks(const CodeMap& map, Reader& reader, FrameBuffer& frames) noexcept
      : map_(map), reader_(reader), frames_(frames) {}

  // The table of the code at this address, if it is valid.
  const UnwindTable* table_at(const CodeRange& range, std::uint32_t index,
                              const HotRegisters& hot) noexcept {
    const UnwindTable* const table = map_.table_of(range);
    const bool may_be_other_code =
        table != nullptr && range.is_registered && !map_.checksums().sorted.empty();
    return may_be_other_code && !verify_checksum(index, hot.lookup_pc()) ? nullptr : table;
  }

  bool is_return_address(std::uint64_t address) const noexcept {
    return address != 0 && map_.find(lookup_address(address, PcKind::kReturnAddress)) != nullptr;
  }

  // No call precedes this return address, and CFI begins exactly there: it was put on a new stack
  // so that the outermost function returns to that code (__start_context after a makecontext
  // function; its CFI wrongly describes a caller).
  bool is_entered_by_return(const CodeRange& range, std::uint32_t index,
                            std::uint64_t pc) noexcept {
    // JIT compilers put no such addresses on stacks, and this table may be outdated.
    const UnwindTable* const table = range.is_registered ? nullptr : map_.table_of(range);
    if (table == nullptr || pc >= range.end || table->find(pc - range.load_bias) == nullptr) {
      return false;
    }
    if constexpr (Reader::kReadsCode) {
      std::uint64_t before = 0;
      return reader_.read_word(pc - sizeof before, before) &&
             map_.find(direct_call_target(before, pc)) == nullptr;
    } else {
      return claim({.address = pc,
                    .begin = 1,
                    .end = ~std::uint64_t{0},
                    .frame = index,
                    .kind = CodeClaim::Kind::kNoCallBefore});
    }
  }

  // In an image with CFI, code without it is assembly, mostly leaf functions that do not change the
  // frame pointer: following it would skip their caller. If the word on top of the stack is the
  // return address of a call to this code, it is the caller. Generated code has no such gaps.
  bool is_called_from_top(std::uint32_t index, const HotRegisters& hot) noexcept {
    const std::uint64_t begin = hot.pc - (kLargestBare - 1);
    if constexpr (kReturnAddressIsPushed) {
      return is_call_at(hot.stack, begin, hot.pc + 1, index);
    } else {
      const std::uint64_t return_address = plain_return_address(hot.base);
      return hot.is_known(kBaseRegister) &&
             (is_call_before(return_address, begin, hot.pc + 1, index) ||
              returns_by_register(return_address, hot.pc));
    }
  }

  // Code that switches to another stack, as Go does for calls into C, keeps the frame pointer of
  // its frame on the first stack. It is followed if the return address there was pushed by a call
  // to this code, and only a limited number of times, because two stacks may point to each other.
  bool is_called_from_other_stack(std::uint32_t index, const HotRegisters& hot) noexcept {
    if (stack_switches_left_ == 0) return false;
    --stack_switches_left_;
    return is_call_at(hot.frame + sizeof hot.frame, hot.pc - (kLargestBare - 1), hot.pc, index);
  }

 private:
  static constexpr std::uint64_t kLargestBare = 4096;  // of a function in assembly

  [[gnu::noinline]] bool verify_checksum(std::uint32_t index, std::uint64_t pc) noexcept {
    if constexpr (Reader::kReadsCode) {
      return verifier_.is_unchanged(map_.checksums(), pc, reader_);
    } else {
      const CodeChecksum* const checksum = map_.checksums().find(pc);
      return checksum == nullptr || claim({.address = checksum->begin,
                                           .begin = checksum->bytes,
                                           .end = checksum->hash,
                                           .frame = index,
                                           .kind = CodeClaim::Kind::kHash});
    }
  }
  bool claim(const CodeClaim& claim) noexcept {
    return claim.frame < kKeptInner && add_claim(frames_.claims, frames_.claim_count, claim);
  }

  // In a handler's walk, which must not read code, check_code_claims decides.
  bool returns_by_register(std::uint64_t return_address, std::uint64_t pc) noexcept {
    if constexpr (Reader::kReadsCode) {
      return is_return_address(return_address) &&
             ends_as_leaf(pc, [this](std::uint64_t address, std::uint64_t& out) {
               return reader_.read_word(address, out);
             });
    } else {
      return false;
    }
  }

  // Whether a direct call into [begin, end) pushed the return address at `address`.
  bool is_call_at(std::uint64_t address, std::uint64_t begin, std::uint64_t end,
                  std::uint32_t index) noexcept {
    std::uint64_t return_address = 0;
    if (!reader_.read_word(address, return_address)) return false;
    return_address = original_return_address(return_address);
    return is_call_before(return_address, begin, end, index);
  }
  bool is_call_before(std::uint64_t return_address, std::uint64_t begin, std::uint64_t end,
                      std::uint32_t index) noexcept {
    if (!is_return_address(return_address)) return false;
    if constexpr (Reader::kReadsCode) {
      std::uint64_t before = 0;
      if (!reader_.read_word(return_address - sizeof before, before)) return false;
      const std::uint64_t target = direct_call_target(before, return_address);
      return target >= begin && target < end;
    } else {
      return claim({.address = return_address,
                    .begin = begin,
                    .end = end,
                    .frame = index,
                    .kind = CodeClaim::Kind::kCallBefore});
    }
  }

  const CodeMap& map_;
  Reader& reader_;
  FrameBuffer& frames_;
  ChecksumVerifier verifier_;
  unsigned stack_switches_left_ = 8;
};

}  // namespace swipr::unwind
