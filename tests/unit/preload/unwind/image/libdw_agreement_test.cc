// libdw reads the same CFI independently: for thousands of addresses of real libraries both must
// find the same caller. Both are evaluated on artificial registers and memory, so that rules are
// equal if their results are, whatever their form.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "preload/unwind/table/rule.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/step.h"
#include "tests/unit/preload/unwind/mapped_file.h"

namespace swipr::unwind {
namespace {

// Each word of memory holds a number computed from its address and above all of these addresses, so
// that a CFA that is read from memory is above the frame.
std::uint64_t word_at(std::uint64_t address) {
  return (address ^ 0x5bd1e995) * 0x9e3779b97f4a7c15 | std::uint64_t{1} << 63;
}
bool read_made_up_word(void*, std::uint64_t address, std::uint64_t& out) noexcept {
  out = word_at(address);
  return true;
}
constexpr StackReader kMadeUpMemory{&read_made_up_word, nullptr};

Registers made_up_registers(std::uint64_t pc) {
  Registers registers;
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
    registers.values[reg] = 0x7ff000000000 + 0x10000 * reg;
  }
  registers.values[kRsp] = 0x7fe000000000;  // below what the others point to, as in a frame
  registers.values[kPc] = pc;
  registers.known = (1u << Registers::kCount) - 1;
  return registers;
}

struct Caller {
  enum class Kind { kNoCfi, kRoot, kFrame } kind = Kind::kNoCfi;
  std::uint64_t pc = 0, stack = 0, frame = 0, base = 0;
  bool signal_frame = false;
  bool operator==(const Caller&) const = default;
};

void PrintTo(const Caller& caller, std::ostream* out) {
  *out << "kind " << static_cast<int>(caller.kind) << std::hex << " pc " << caller.pc << " stack "
       << caller.stack << " frame " << caller.frame << " base " << caller.base << " signal "
       << caller.signal_frame;
}

Caller caller_by_plain_rule(const Rule& rule, const Registers& registers) {
  const std::uint64_t cfa = registers.values[rule.cfa_register] +
                            static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  const auto saved = [&](std::int16_t offset, unsigned reg) {
    return offset == Rule::kKept ? registers.values[reg]
                                 : word_at(cfa + static_cast<std::uint64_t>(std::int64_t{offset}));
  };
  return {.kind = Caller::Kind::kFrame,
          .pc = word_at(cfa - 8),
          .stack = cfa,
          .frame = saved(rule.saved_frame, kRbp),
          .base = saved(rule.saved_base, kRbx)};
}

Caller caller_by_table(const UnwindTable& table, std::uint64_t pc) {
  const Rule* const rule = table.find(pc);
  if (rule == nullptr) return {};
  if ((rule->flags & kRuleRoot) != 0) return {.kind = Caller::Kind::kRoot};
  Registers registers = made_up_registers(pc);
  if (rule->flags == 0) return caller_by_plain_rule(*rule, registers);
  const StepStatus status = step_by_extended_rule(table, *rule, kMadeUpMemory, registers);
  EXPECT_EQ(status, StepStatus::kOk) << "at " << std::hex << pc;
  return {.kind = Caller::Kind::kFrame,
          .pc = registers.values[kPc],
          .stack = registers.values[kRsp],
          .frame = registers.values[kRbp],
          .base = registers.values[kRbx],
          .signal_frame = (rule->flags & kRuleSignalFrame) != 0};
}

// Runs libdw's operations. The result is an address or a value; the caller knows which.
class DwarfOps {
 public:
  DwarfOps(const Registers& registers, std::uint64_t cfa) : registers_(registers), cfa_(cfa) {}

  std::uint64_t run(const Dwarf_Op* ops, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) execute(ops[i]);
    return stack_.empty() ? 0 : stack_.back();
  }
  bool is_value() const { return is_value_; }

 private:
  std::uint64_t pop() {
    const std::uint64_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  void execute(const Dwarf_Op& op) {
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
      stack_.push_back(op.atom - DW_OP_lit0);
    } else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
      stack_.push_back(registers_.values[op.atom - DW_OP_breg0] + op.number);
    } else if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) {
      stack_.push_back(registers_.values[op.atom - DW_OP_reg0]);
      is_value_ = true;
    } else if (op.atom == DW_OP_bregx) {
      stack_.push_back(registers_.values[op.number] + op.number2);
    } else if (op.atom == DW_OP_regx) {
      stack_.push_back(registers_.values[op.number]);
      is_value_ = true;
    } else {
      execute_other(op);
    }
  }
  void execute_other(const Dwarf_Op& op) {
    switch (op.atom) {
      case DW_OP_call_frame_cfa:
        stack_.push_back(cfa_);
        return;
      case DW_OP_stack_value:
        is_value_ = true;
        return;
      case DW_OP_deref:
        stack_.push_back(word_at(pop()));
        return;
      case DW_OP_plus_uconst:
        stack_.push_back(pop() + op.number);
        return;
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4s:
      case DW_OP_consts:
      case DW_OP_constu:
        stack_.push_back(op.number);
        return;
      default:
        break;
    }
    const std::uint64_t right = pop();
    const std::uint64_t left = pop();
    switch (op.atom) {
      case DW_OP_and:
        stack_.push_back(left & right);
        return;
      case DW_OP_plus:
        stack_.push_back(left + right);
        return;
      case DW_OP_minus:
        stack_.push_back(left - right);
        return;
      case DW_OP_mul:
        stack_.push_back(left * right);
        return;
      case DW_OP_shl:
        stack_.push_back(left << right);
        return;
      case DW_OP_ge:
        stack_.push_back(static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right));
        return;
      default:
        ADD_FAILURE() << "operation " << static_cast<int>(op.atom);
    }
  }

  const Registers& registers_;
  std::uint64_t cfa_;
  bool is_value_ = false;
  std::vector<std::uint64_t> stack_;
};

class LibdwReader {
 public:
  explicit LibdwReader(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_, ELF_C_READ_MMAP, nullptr);
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  ~LibdwReader() {
    dwarf_cfi_end(cfi_);
    elf_end(elf_);
    ::close(fd_);
  }
  bool has_cfi() const { return cfi_ != nullptr; }

  Caller caller(std::uint64_t pc) const {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi_, pc, &frame) != 0) return {};
    const Registers registers = made_up_registers(pc);
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    Caller result{.kind = Caller::Kind::kFrame};
    dwarf_frame_info(frame, nullptr, nullptr, &result.signal_frame);
    if (dwarf_frame_cfa(frame, &ops, &count) != 0) return {};
    const std::uint64_t cfa = DwarfOps(registers, 0).run(ops, count);
    const std::optional<std::uint64_t> return_address = saved(frame, kPc, registers, cfa);
    if (!return_address) result = {.kind = Caller::Kind::kRoot};
    if (return_address) {
      result.pc = *return_address;
      result.stack = is_same(frame, kRsp) ? cfa : saved(frame, kRsp, registers, cfa).value_or(cfa);
      // libdw reports a register as undefined after DW_CFA_restore if the CIE has no rule for it.
      result.frame = saved(frame, kRbp, registers, cfa).value_or(registers.values[kRbp]);
      result.base = saved(frame, kRbx, registers, cfa).value_or(registers.values[kRbx]);
    }
    std::free(frame);
    return result;
  }

 private:
  static bool is_same(Dwarf_Frame* frame, unsigned reg) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    dwarf_frame_register(frame, static_cast<int>(reg), memory, &ops, &count);
    return count == 0 && ops == nullptr;
  }
  // nullopt: undefined.
  static std::optional<std::uint64_t> saved(Dwarf_Frame* frame, unsigned reg,
                                            const Registers& registers, std::uint64_t cfa) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    dwarf_frame_register(frame, static_cast<int>(reg), memory, &ops, &count);
    if (count == 0) {
      if (ops == nullptr) return registers.values[reg];
      return std::nullopt;
    }
    DwarfOps machine(registers, cfa);
    const std::uint64_t result = machine.run(ops, count);
    // Where GCC's CFI is wrong (see ExtendedStep::is_restored) libdw applies it literally.
    const bool by_expression =
        count > 1 && ops[1].atom >= DW_OP_breg0 && ops[1].atom <= DW_OP_breg31;
    const bool outside = result >= cfa || result < registers.values[kRsp];
    if (!machine.is_value() && by_expression && outside && reg != kPc) return registers.values[reg];
    return machine.is_value() ? result : word_at(result);
  }

  int fd_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

std::string library_path(const std::string& name) {
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu/", "/lib64/", "/proc/self/"}) {
    const std::string path = folder + name;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

class LibdwAgreement : public testing::TestWithParam<const char*> {};

TEST_P(LibdwAgreement, SameCallerAtRandomAddresses) {
  const std::string path = library_path(GetParam());
  if (path.empty()) GTEST_SKIP() << GetParam() << " is not installed";
  MappedFile file(path);
  ASSERT_TRUE(file.is_open());
  const BuildResult built = build_table(file.elf_header(), file.reader());
  ASSERT_EQ(built.status, BuildStatus::kOk);
  EXPECT_EQ(built.load_bias, MappedFile::kLoadBias);
  EXPECT_NE(built.build_id_bytes, 0u);
  const LibdwReader oracle(path);
  ASSERT_TRUE(oracle.has_cfi());

  constexpr int kSamples = 20000;
  std::mt19937_64 random(1);
  int with_cfi = 0;
  int differing = 0;
  for (int i = 0; i < kSamples; ++i) {
    const std::uint64_t pc = built.table->base + random() % built.table->covered_bytes;
    const Caller expected = oracle.caller(pc);
    const Caller actual = caller_by_table(*built.table, pc);
    with_cfi += expected.kind != Caller::Kind::kNoCfi;
    differing += !(actual == expected);
    if (differing < 5) {
      EXPECT_EQ(actual, expected) << path << " at " << std::hex << pc;
    }
  }
  EXPECT_EQ(differing, 0);
  EXPECT_GT(with_cfi, kSamples / 10);  // most of libx265 is assembly without CFI
  std::printf("%s: %d addresses, %d with CFI, %d differ; %u rows, %u rules, %zu KiB\n", GetParam(),
              kSamples, with_cfi, differing, built.table->row_count, built.table->rule_count,
              table_memory_bytes(built.table) >> 10);
  destroy_table(built.table);
}

// Parts as a walk builds them, one by one.
TEST_P(LibdwAgreement, PartsSayWhatTheWholeTableSays) {
  constexpr std::uint64_t kPartBytes = 0x10000;
  const std::string path = library_path(GetParam());
  if (path.empty()) GTEST_SKIP() << GetParam() << " is not installed";
  MappedFile file(path);
  ASSERT_TRUE(file.is_open());
  const BuildResult whole = build_table(file.elf_header(), file.reader());
  ASSERT_EQ(whole.status, BuildStatus::kOk);
  ASSERT_NE(whole.search.count, 0u);
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  for (std::uint64_t begin = whole.text.begin; begin < whole.text.end; begin += kPartBytes) {
    const Range<std::uint64_t> part{begin, std::min(begin + kPartBytes, whole.text.end)};
    const UnwindTable* table = nullptr;
    const BuildStatus status = build_part(whole, part, file.reader(), table);
    ASSERT_TRUE(status == BuildStatus::kOk || status == BuildStatus::kNoCfi) << path;
    for (std::uint64_t at = part.begin; at < part.end; at += 7, ++compared) {
      const Rule* const expected = whole.table->find(at);
      const Rule* const actual = table == nullptr ? nullptr : table->find(at);
      if (expected == nullptr) {
        differing += actual != nullptr;
        continue;
      }
      Rule rule = actual == nullptr ? Rule{} : *actual;
      rule.first_location = expected->first_location;  // numbers of another table
      const bool is_same =
          rule.flags == expected->flags && rule.cfa_register == expected->cfa_register;
      differing += !is_same || (rule.flags == 0 && !(rule == *expected)) ||
                   table->function_start(at) != whole.table->function_start(at);
    }
    destroy_table(table);
  }
  EXPECT_EQ(differing, 0u) << "of " << compared;
  destroy_table(whole.table);
}

INSTANTIATE_TEST_SUITE_P(Libraries, LibdwAgreement,
                         testing::Values("libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6",
                                         "libstdc++.so.6", "libcrypto.so.3", "libx265.so.199",
                                         "libpython3.11.so.1.0", "libLLVM-14.so.1", "exe"));

}  // namespace
}  // namespace swipr::unwind
