// Every function of libraries is planned, or refused with a reason; instructions of each copy do
// what those of the function do, as objdump reads both.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/plan.h"
#include "tests/unit/preload/trace/file_functions.h"

namespace swipr::trace {
namespace {

using Texts = std::unordered_map<std::uint64_t, std::string>;  // by address

const char* find_objdump() {
  for (const char* const path : {"/usr/bin/aarch64-linux-gnu-objdump", "/usr/bin/objdump"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

// "mnemonic operands" of each instruction, in which addresses are absolute: "b 0x400010".
Texts disassemble(const char* objdump, std::span<const std::uint8_t> code, std::uint64_t address) {
  const std::string path = testing::TempDir() + "code" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
  char command[512];
  std::snprintf(command, sizeof command,
                "%s -D -z -b binary -m aarch64 --no-show-raw-insn --adjust-vma=0x%llx %s", objdump,
                static_cast<unsigned long long>(address), path.c_str());
  Texts texts;
  FILE* const output = ::popen(command, "r");
  char line[512];
  while (output != nullptr && std::fgets(line, sizeof line, output) != nullptr) {
    char* behind = nullptr;
    const std::uint64_t at = std::strtoull(line, &behind, 16);
    if (behind == line || *behind != ':') continue;
    std::string text(behind + 1 + std::strspn(behind + 1, " \t"));
    for (const char* const end : {"\n", "\t//", "  //"})
      text.resize(std::min(text.find(end), text.size()));
    std::ranges::replace(text, '\t', ' ');
    texts[at] = text;
  }
  if (output != nullptr) ::pclose(output);
  ::unlink(path.c_str());
  return texts;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The address at the end of an operand list.
std::uint64_t last_address(const std::string& text) {
  return std::strtoull(text.c_str() + text.rfind(' '), nullptr, 16);
}

std::string register_of(const std::string& text) {
  const std::size_t begin = text.find(' ') + 1;
  return text.substr(begin, text.find(',') - begin);
}

class Copies {
 public:
  explicit Copies(std::uint64_t address) : address_(address) {}

  void add(const Function& function, const Plan& plan) {
    std::array<std::uint8_t, Plan::kMostCopyBytes> copy{};
    ASSERT_EQ(build_copy(plan, function, address_ + bytes_.size(), copy), Refusal::kNone);
    plans_.push_back(plan);
    bytes_.insert(bytes_.end(), copy.begin(), copy.end());
  }

  void compare(const char* objdump, const Texts& originals) const {
    const Texts copies = disassemble(objdump, bytes_, address_);
    for (std::size_t index = 0; index < plans_.size() && !testing::Test::HasFailure(); ++index) {
      const Plan& plan = plans_[index];
      const std::uint64_t copy = address_ + index * Plan::kMostCopyBytes;
      for (std::size_t at = 0; at < plan.moved_count; ++at) {
        const std::string& original = originals.at(plan.function + plan.moved[at].from);
        expect_moved(original, plan, copy, plan.moved[at].to, copies);
      }
      if (plan.jump_at < plan.copy_bytes) {
        EXPECT_EQ(copies.at(copy + plan.jump_at), "b " + hex(plan.function + plan.end));
      }
    }
  }
  std::size_t changed() const { return changed_; }

 private:
  std::uint64_t literal(std::uint64_t address) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + (address - address_), sizeof value);
    return value;
  }

  void expect_moved(const std::string& original, const Plan& plan, std::uint64_t copy,
                    std::size_t to, const Texts& copies) const {
    const std::string& moved = copies.at(copy + to);
    const std::string mnemonic = original.substr(0, original.find(' '));
    const bool has_address =
        original.find(" 0x") != original.npos && original.rfind("0x") > original.rfind(' ');
    const bool is_literal = (mnemonic == "ldr" || mnemonic == "ldrsw") && has_address;
    if (mnemonic == "adr" || mnemonic == "adrp" || is_literal) {
      ++changed_;
      ASSERT_EQ(moved.substr(0, 3), "ldr") << original;
      EXPECT_EQ(literal(last_address(moved)), last_address(original)) << original;
      std::string reg = register_of(original);
      EXPECT_EQ(register_of(moved).substr(1), reg.substr(1)) << original;
      if (!is_literal) return;
      EXPECT_EQ(copies.at(copy + to + 4), mnemonic + " " + reg + ", [x" + reg.substr(1) + "]");
    } else if (mnemonic.starts_with("b.") || mnemonic.starts_with("cb") ||
               mnemonic.starts_with("tb")) {
      ++changed_;
      const std::string condition = original.substr(0, original.rfind(' ') + 1);
      EXPECT_EQ(moved, condition + hex(copy + to + 8));
      EXPECT_EQ(copies.at(copy + to + 4), "b " + hex(plan.function + plan.end));
      EXPECT_EQ(copies.at(copy + to + 8), "b " + hex(last_address(original)));
    } else {
      EXPECT_EQ(moved, original);
    }
  }

  std::uint64_t address_;
  std::vector<Plan> plans_;
  std::vector<std::uint8_t> bytes_;
  mutable std::size_t changed_ = 0;
};

class PlanSweep : public testing::TestWithParam<const char*> {};

TEST_P(PlanSweep, PlansMostFunctionsAndHasAReasonForTheOthers) {
  const auto paths = libraries({GetParam()});
  const char* const objdump = find_objdump();
  if (paths.empty() || objdump == nullptr) GTEST_SKIP() << GetParam() << " or objdump is missing";
  FileFunctions file(paths.front());
  Copies copies((file.addresses().end + 0x1000000) & -4096ull);
  std::array<std::size_t, kRefusalCount> counts{};
  for (const Function& function : file.functions()) {
    Plan plan;
    Refusal refusal = make_plan(function, plan);
    if (refusal == Refusal::kNone) {
      refusal = check_far_branches(file.text(), file.addresses().begin, plan);
    }
    ++counts[static_cast<std::size_t>(refusal)];
    if (refusal == Refusal::kNone) copies.add(function, plan);
  }
  copies.compare(objdump, disassemble(objdump, file.text(), file.addresses().begin));
  const std::size_t all = file.functions().size();
  std::printf("%s: %zu functions, %zu planned, %zu instructions become others\n", GetParam(), all,
              counts[0], copies.changed());
  for (std::size_t reason = 1; reason < kRefusalCount; ++reason) {
    if (counts[reason] == 0) continue;
    std::printf("  %6zu because %s\n", counts[reason], refusal_text(static_cast<Refusal>(reason)));
  }
  EXPECT_GT(counts[0], all * 85 / 100);
}

INSTANTIATE_TEST_SUITE_P(Libraries, PlanSweep,
                         testing::Values("libc.so.6", "libstdc++.so.6", "libcrypto.so.3"));

}  // namespace
}  // namespace swipr::trace
