#include "tests/unit/preload/trace/traced.h"

#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "preload/trace/calls/pool.h"
#include "preload/trace/plan/plan.h"
#include "preload/trace/stub.h"
#include "preload/unwind/base/architecture.h"
#include "tests/unit/preload/trace/file_functions.h"
#include "tests/unit/preload/trace/machine.h"

namespace swipr::trace {
namespace {

std::uint64_t load_bias() {
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &bias);
  return bias;
}

// The bytes are those of the file: functions that are patched have changed.
Function function_at(std::uint64_t address) {
  static const FileFunctions file("/proc/self/exe");
  static const std::uint64_t moved = load_bias() - unwind::MappedFile::kLoadBias;
  for (const Function& function : file.functions()) {
    if (function.address + moved == address) return {address, function.code};
  }
  ADD_FAILURE() << "no call frame information begins at this function";
  return {};
}

std::uint64_t near_page(std::uint64_t address) {
  for (std::uint64_t distance = 1 << 20; distance < kFarthestCopy; distance += 1 << 16) {
    void* const wanted = reinterpret_cast<void*>((address & -65536ull) - distance);
    void* const memory = ::mmap(wanted, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == wanted) return reinterpret_cast<std::uint64_t>(memory);
    if (memory != MAP_FAILED) ::munmap(memory, 4096);  // qemu-aarch64 knows no such flag
  }
  return 0;
}

std::uint32_t next_probe() {
  static std::uint32_t next = 0;
  return next++;
}

}  // namespace

Traced::Traced(std::uint64_t address) {
  EXPECT_EQ(prepare_pool(), PoolStatus::kReady);
  const Function function = function_at(address);
  Plan plan;
  EXPECT_STREQ(refusal_text(make_plan(function, plan)), "");
  const std::uint64_t stub = near_page(address);
  const std::uint64_t copy = stub + kCopyAt;
  std::array<std::uint8_t, Plan::kMostCopyBytes> bytes;
  EXPECT_EQ(build_copy(plan, function, copy, bytes), Refusal::kNone);
  std::memcpy(reinterpret_cast<void*>(copy), bytes.data(), bytes_of_copy(plan));
  probe_ = next_probe();
  write_stub(reinterpret_cast<std::uint8_t*>(stub), function, plan, probe_);
  EXPECT_TRUE(set_up_probe(probe_, copy));
  pool.probes[probe_].enabled.store(1);
  patch_at_ = plan.patch();
  std::memcpy(original_, reinterpret_cast<const void*>(patch_at_), sizeof original_);
  std::uint8_t jump[kJumpBytes];
  make_jump(patch_at_, stub, jump);
  patch(jump);
}

Traced::~Traced() { patch(original_); }

void Traced::patch(const std::uint8_t (&bytes)[kJumpBytes]) {
  const std::uint64_t begin = patch_at_ & -unwind::page_bytes();
  void* const page = reinterpret_cast<void*>(begin);
  const std::size_t bytes_of_pages = patch_at_ + kJumpBytes - begin;
  ASSERT_EQ(::mprotect(page, bytes_of_pages, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  std::memcpy(reinterpret_cast<void*>(patch_at_), bytes, sizeof bytes);
  flush_code(patch_at_, kJumpBytes);
  ASSERT_EQ(::mprotect(page, bytes_of_pages, PROT_READ | PROT_EXEC), 0);
}

Histogram Traced::histogram() const {
  Histogram sum;
  add_up(probe_, sum);
  return sum;
}

std::uint64_t Traced::calls() const {
  const Histogram sum = histogram();
  return std::accumulate(std::begin(sum.buckets), std::end(sum.buckets), std::uint64_t{0});
}

TracedTest::TracedTest() {
  EXPECT_EQ(prepare_pool(), PoolStatus::kReady);
  before_ = open_calls();
}

std::uint32_t TracedTest::opened() const {
  const std::uint32_t now = open_calls();
  return now - std::min(now, before_);
}

}  // namespace swipr::trace
