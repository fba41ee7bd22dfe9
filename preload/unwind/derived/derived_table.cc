#include "preload/unwind/derived/derived_table.h"

#include <algorithm>
#include <array>

#include "preload/machine/instruction_x86_64.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/mapped_object.h"
#include "preload/unwind/derived/frame_state.h"
#include "preload/unwind/image/dynamic_symbol.h"
#include "preload/unwind/table/row_writer.h"
#include "preload/unwind/table/rule_set.h"
#include "preload/unwind/table/table_packer.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {

namespace {

using machine::Instruction;

constexpr std::uint64_t kMaxTextBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMaxTables = 4096;       // jumps through tables; libc has hundreds
constexpr std::size_t kMaxTargets = 1u << 17;  // of all tables together
constexpr std::size_t kRoom = machine::kLongestInstruction;  // behind the last instruction

bool is_return(const Instruction& instruction) noexcept {
  return instruction.is_plain && (instruction.opcode == 0xc3 || instruction.opcode == 0xc2);
}
bool is_call(const Instruction& instruction) noexcept {
  return instruction.is_plain && instruction.opcode == 0xe8;
}
bool is_jump(const Instruction& instruction) noexcept {
  return instruction.is_plain && (instruction.opcode == 0xe9 || instruction.opcode == 0xeb);
}
// Through a register or memory.
bool is_computed_jump(const Instruction& instruction) noexcept {
  return instruction.is_plain && instruction.opcode == 0xff && (instruction.modrm >> 3 & 7) == 4;
}
// hlt, int3, ud2: nothing comes back.
bool is_trap(const Instruction& instruction) noexcept {
  return (instruction.is_plain && (instruction.opcode == 0xf4 || instruction.opcode == 0xcc)) ||
         (instruction.is_second && instruction.opcode == 0x0b);
}
bool is_filler(const Instruction& instruction) noexcept {
  return (instruction.is_plain && (instruction.opcode == 0x90 || instruction.opcode == 0xcc)) ||
         (instruction.is_second && instruction.opcode == 0x1f);
}

// What a path has met of `cmp $n,%reg; ja default; lea table(%rip),%a; movslq (%a,%b,4),%c;
// add %a,%c; jmp *%c`, as compilers write a switch.
struct JumpTable {
  std::uint32_t last = 0;     // the largest index; 0: not known
  std::uint64_t address = 0;  // image address; 0: not known

  void note(const Instruction& instruction, std::uint64_t behind) noexcept {
    if (!instruction.is_plain) return;
    const bool compares_eax = instruction.opcode == 0x3c || instruction.opcode == 0x3d;
    const bool compares =
        (instruction.opcode == 0x80 || instruction.opcode == 0x81 || instruction.opcode == 0x83) &&
        instruction.modrm >= 0xf8;
    if (compares || compares_eax) last = static_cast<std::uint32_t>(instruction.immediate);
    if (instruction.opcode == 0x8d && instruction.is_rip_relative) {
      address = behind + static_cast<std::uint64_t>(std::int64_t{instruction.displacement});
    }
  }
};

class Deriver {
 public:
  Deriver(const BuildResult& image, ImageReader reader) noexcept
      : image_(image), reader_(reader), text_(image.text) {}

  BuildStatus run(const UnwindTable*& table) noexcept {
    const std::uint64_t bytes = text_.end - text_.begin;
    if (bytes > kMaxTextBytes) return BuildStatus::kTooLarge;
    if (!code_.resize(bytes + kRoom) || !marks_.resize(bytes) || !rules_.prepare()) {
      return BuildStatus::kNoMemory;
    }
    const auto code = std::as_writable_bytes(code_.span().first(bytes));
    if (!reader_.read(reader_.state, image_.load_bias + text_.begin, code)) {
      return BuildStatus::kUnreadable;
    }
    const auto add = [](void* self, Range<std::uint64_t> function) noexcept {
      static_cast<Deriver*>(self)->note_start(function.begin);
    };
    if (!for_each_function(image_.dynamic, image_.load_bias, reader_, {add, this})) {
      return BuildStatus::kNoCfi;
    }
    follow_all();
    if (is_out_of_memory_ || !write_rows()) return BuildStatus::kNoMemory;
    table = pack_table(rows_, rules_);
    return table != nullptr ? BuildStatus::kOk : BuildStatus::kNoMemory;
  }

 private:
  struct Mark {  // of an instruction's first byte
    std::uint16_t rule = 0;
    bool is_known = false;
    bool is_start = false;  // of a function
  };
  struct Path {
    std::uint32_t at = 0;
    FrameState state{};
    JumpTable table{};
  };
  std::size_t size() const noexcept { return marks_.size(); }
  Instruction decode(std::size_t at) const noexcept {
    return machine::decode_instruction(code_.span().subspan(at, kRoom));
  }

  void note_start(std::uint64_t image_address) noexcept {
    const std::uint64_t at = image_address - text_.begin;
    if (at >= size() || marks_[at].is_start) return;
    marks_[at].is_start = true;
    push(at, {});
  }
  void push(std::uint64_t at, const FrameState& state) noexcept {
    if (at >= size() || marks_[at].is_known) return;
    if (marks_[at].is_start && !state.is_at_entry()) return;  // a call in tail position
    if (!paths_.push_back({static_cast<std::uint32_t>(at), state})) is_out_of_memory_ = true;
  }

  // False: the table is not known.
  bool push_targets(const JumpTable& table, const FrameState& state) noexcept {
    constexpr std::uint32_t kMost = 1024;
    std::array<std::int32_t, kMost> targets;
    if (table.address == 0 || table.last == 0 || table.last >= kMost) return false;
    if (table.last >= targets_left_) return false;
    targets_left_ -= table.last + 1;
    const auto read = std::span(targets).first(table.last + 1);
    if (!reader_.read(reader_.state, image_.load_bias + table.address,
                      std::as_writable_bytes(read))) {
      return false;
    }
    const auto is_outside = [&](std::int64_t target) {
      return table.address + static_cast<std::uint64_t>(target) - text_.begin >= size();
    };
    if (std::any_of(read.begin(), read.end(), is_outside)) return false;
    for (const std::int64_t target : read) {
      push(table.address + static_cast<std::uint64_t>(target) - text_.begin, state);
    }
    return true;
  }

  // What no path has reached follows the end of a function: another function, or, if the function
  // jumps through a table, a target of that jump.
  void follow_all() noexcept {
    follow_paths();
    Path before;  // the last jump through a table; at 0: none in this function
    for (std::size_t at = 0; at < size();) {
      if (marks_[at].is_start) before = {};
      const Instruction instruction = decode(at);
      if (!marks_[at].is_known && !is_filler(instruction) && instruction.bytes != 0) {
        if (looks_like_entry(at, instruction)) before = {};
        if (before.at == 0) marks_[at].is_start = true;
        push(at, before.state);
        follow_paths();
      }
      if (is_computed_jump(instruction)) before = table_jump_at(at);
      at += std::max<std::size_t>(instruction.bytes, 1);
    }
  }

  // Whether another function begins behind a call, which then does not return.
  bool ends_function(std::size_t behind, const FrameState& state) noexcept {
    constexpr std::size_t kAlignment = 16;
    std::size_t at = behind;
    Instruction next = decode(at);
    for (; at < size() && is_filler(next); next = decode(at)) at += next.bytes;
    const bool begins =
        at < size() && at % kAlignment == 0 && looks_like_entry(at, next) && !state.is_at_entry();
    if (begins) note_start(text_.begin + at);
    return begins;
  }

  // endbr64, a push of a register, or stack space that is taken.
  bool looks_like_entry(std::size_t at, const Instruction& instruction) const noexcept {
    const auto code = code_.span().subspan(at, kRoom);
    const bool is_endbr = code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa;
    return is_endbr || machine::stack_bytes_taken(instruction, code) > 0;
  }
  // at 0: it is a call in tail position.
  Path table_jump_at(std::size_t at) const noexcept {
    for (const Path& path : tables_.span()) {
      if (path.at == at) return path;
    }
    return {};
  }

  void follow_paths() noexcept {
    while (!paths_.empty() && !is_out_of_memory_) {
      const Path path = paths_.back();
      paths_.truncate(paths_.size() - 1);
      follow(path);
    }
  }

  void follow(Path path) noexcept {
    std::size_t at = path.at;
    FrameState& state = path.state;
    for (bool is_first = true; at < size() && !marks_[at].is_known; is_first = false) {
      if (marks_[at].is_start && !is_first) return;  // behind a call that does not return
      const Instruction instruction = decode(at);
      if (instruction.bytes == 0) return;
      const std::uint32_t rule = rules_.intern(state.rule(), {});
      if (rule == RuleSet::kNoMemory) is_out_of_memory_ = true;
      if (is_out_of_memory_) return;
      marks_[at].rule = static_cast<std::uint16_t>(rule);
      marks_[at].is_known = true;
      path.table.note(instruction, text_.begin + at + instruction.bytes);
      if (!go_on(instruction, at, path)) return;
      state.execute(instruction, code_.span().subspan(at, kRoom));
      at += instruction.bytes;
    }
  }

  // False: the next instruction is not reached from this one.
  bool go_on(const Instruction& instruction, std::size_t at, const Path& path) noexcept {
    const FrameState& state = path.state;
    const std::uint64_t behind = text_.begin + at + instruction.bytes;
    if (is_return(instruction) || is_trap(instruction)) return false;
    if (is_computed_jump(instruction)) {
      if (!push_targets(path.table, state) && !state.is_at_entry() && tables_.size() < kMaxTables &&
          !tables_.push_back({static_cast<std::uint32_t>(at), state})) {
        is_out_of_memory_ = true;
      }
      return false;
    }
    const bool takes_address = instruction.is_plain && instruction.opcode == 0x8d;
    if (takes_address && instruction.is_rip_relative) {
      note_start(behind + static_cast<std::uint64_t>(std::int64_t{instruction.displacement}));
    }
    if (!machine::is_relative_branch(instruction)) return true;
    const std::uint64_t target = behind + static_cast<std::uint64_t>(instruction.immediate);
    if (is_call(instruction)) {
      note_start(target);
      return !ends_function(at + instruction.bytes, state);
    }
    push(target - text_.begin, state);
    return !is_jump(instruction);
  }

  bool write_rows() noexcept {
    std::size_t at = 0;
    while (at < size() && !marks_[at].is_start) ++at;
    while (at < size()) {
      std::size_t end = at + 1;
      std::size_t count = 1;
      for (; end < size() && !marks_[end].is_start; ++end) count += marks_[end].is_known ? 1 : 0;
      if (!rows_.begin_fde(text_.begin + at, count + 1)) return false;
      for (; at < end; ++at) {
        if (marks_[at].is_known) rows_.add(text_.begin + at, marks_[at].rule);
      }
      rows_.end_fde(text_.begin + end);
    }
    return true;
  }

  const BuildResult& image_;
  ImageReader reader_;
  Range<std::uint64_t> text_;
  GrowableArray<std::uint8_t> code_;
  GrowableArray<Mark> marks_;
  GrowableArray<Path> paths_;
  GrowableArray<Path> tables_;  // computed jumps that are no calls
  std::size_t targets_left_ = kMaxTargets;
  RuleSet rules_;
  RowWriter rows_;
  bool is_out_of_memory_ = false;
};

}  // namespace

BuildStatus derive_table(const BuildResult& image, ImageReader reader,
                         const UnwindTable*& table) noexcept {
  const MappedObject<Deriver> deriver(image, reader);
  return deriver ? deriver->run(table) : BuildStatus::kNoMemory;
}

}  // namespace swipr::unwind
