#include "tests/unit/preload/trace/loaded_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <string_view>

#include "preload/trace/calls/pool.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/plan/branches.h"
#include "tests/unit/preload/trace/machine.h"

namespace swipr::trace {
namespace {

struct Search {
  std::string name;
  std::string path;
  std::uint64_t bias = 0;
  bool found = false;
};

Search find_loaded(const std::string& name) {
  Search search{.name = name, .path = {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto& wanted = *static_cast<Search*>(out);
        const std::string_view path = info->dlpi_name;
        const bool is_it = wanted.name.empty() ? path.empty() : path.find(wanted.name) != path.npos;
        if (!is_it || wanted.found) return 0;
        wanted.found = true;
        wanted.bias = info->dlpi_addr;
        wanted.path = path.empty() ? "/proc/self/exe" : path;
        return 0;
      },
      &search);
  EXPECT_TRUE(search.found) << name;
  return search;
}

// What must not be traced whatever it looks like: the C++ runtime and the unwinder, and functions
// that return twice.
bool is_excluded(std::uint64_t address) {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_sname == nullptr ||
      reinterpret_cast<std::uint64_t>(info.dli_saddr) != address) {
    return false;
  }
  const std::string_view name = info.dli_sname;
  for (const std::string_view begin :
       {"__cxa_", "_Unwind_", "__gxx_", "dl", "_dl_", "__libc_start", "setjmp", "_setjmp",
        "__sigsetjmp", "getcontext", "swapcontext", "setcontext", "makecontext", "vfork", "__vfork",
        "clone", "__clone"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

int gate_signal() { return SIGRTMIN + 7; }

void on_gate(int, siginfo_t* info, void* context) {
  const int saved = errno;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (info->si_code == kGateSignalCode) {
    std::uint64_t pc = pc_of(interrupted);
    answer_gate(reinterpret_cast<std::uint64_t>(info->si_value.sival_ptr), pc,
                stack_of(interrupted));
    set_pc(interrupted, pc);
  }
  errno = saved;
}

}  // namespace

LoadedFile::LoadedFile(const std::string& name) {
  const Search found = find_loaded(name);
  file_ = std::make_unique<FileFunctions>(found.path);
  moved_ = found.bias - unwind::MappedFile::kLoadBias;
}

bool LoadedFile::plan(std::size_t index, Function& function, Plan& plan) {
  const auto& all = file_->functions();
  if (is_excluded(all[index].address + moved_)) return false;
  if (make_plan(all[index], plan) != Refusal::kNone) return false;
  if (check_jump_tables(all[index], plan, file_->addresses(), file_->reader()) != Refusal::kNone ||
      (index > 0 && check_neighbour(all[index - 1], plan) != Refusal::kNone) ||
      (index + 1 < all.size() && check_neighbour(all[index + 1], plan) != Refusal::kNone) ||
      check_far_branches(file_->text(), file_->addresses().begin, plan) != Refusal::kNone) {
    return false;
  }
  function = {all[index].address + moved_, all[index].code};
  return make_plan(function, plan) == Refusal::kNone;
}

std::size_t LoadedFile::find(std::uint64_t address) const {
  const auto& all = file_->functions();
  const auto found = std::ranges::lower_bound(all, address - moved_, {}, &Function::address);
  return found != all.end() && found->address == address - moved_
             ? static_cast<std::size_t>(found - all.begin())
             : all.size();
}

std::size_t LoadedFile::changed_bytes() const {
  std::size_t changed = 0;
  for (const Function& function : file_->functions()) {
    const auto* memory = reinterpret_cast<const std::uint8_t*>(function.address + moved_);
    for (std::size_t at = 0; at < function.code.size(); ++at) {
      changed += memory[at] != function.code[at];
    }
  }
  return changed;
}

void install_gate_handler() {
  struct sigaction action {};
  action.sa_sigaction = &on_gate;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  ASSERT_EQ(sigaction(gate_signal(), &action, nullptr), 0);
  ASSERT_EQ(prepare_pool(), PoolStatus::kReady);
  ASSERT_EQ(prepare_gate(gate_signal()), GateStatus::kDone);
  static const int registered =
      pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  ASSERT_EQ(registered, 0);
}

}  // namespace swipr::trace
