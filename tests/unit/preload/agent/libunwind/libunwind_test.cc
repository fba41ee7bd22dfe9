// libunwind compared with swipr's tables, in this process.
#include <gtest/gtest.h>
#include <libunwind-x86_64.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "preload/agent/libunwind/second_unwinder.h"
#include "preload/agent/proc/proc_memory.h"

namespace swipr::agent {
namespace {

namespace lu = libunwind;

static_assert(sizeof(unw_cursor_t) <= sizeof(lu::Cursor));
static_assert(sizeof(unw_proc_info_t) <= sizeof(lu::ProcedureInfo));
static_assert(offsetof(unw_proc_info_t, end_ip) == offsetof(lu::ProcedureInfo, end_ip));
static_assert(offsetof(unw_proc_info_t, unwind_info) == offsetof(lu::ProcedureInfo, unwind_info));
static_assert(sizeof(unw_dyn_info_t) <= sizeof(lu::TableInfo));
static_assert(offsetof(unw_dyn_info_t, format) == offsetof(lu::TableInfo, format));
static_assert(offsetof(unw_dyn_info_t, u.rti.segbase) == offsetof(lu::TableInfo, segment_base));
static_assert(offsetof(unw_dyn_info_t, u.rti.table_len) == offsetof(lu::TableInfo, table_words));
static_assert(offsetof(unw_dyn_info_t, u.rti.table_data) == offsetof(lu::TableInfo, table));
static_assert(sizeof(unw_accessors_t) <= sizeof(lu::Accessors));
static_assert(offsetof(unw_accessors_t, access_mem) == offsetof(lu::Accessors, access_mem));
static_assert(offsetof(unw_accessors_t, get_proc_name) == offsetof(lu::Accessors, get_proc_name));
static_assert(UNW_INFO_FORMAT_REMOTE_TABLE == lu::kRemoteTable);
static_assert(UNW_CACHE_GLOBAL == lu::kCacheGlobal);
static_assert(UNW_X86_64_RIP == lu::kInstructionPointer);
static_assert(-UNW_ENOINFO == lu::kNoInfo && -UNW_EBADREG == lu::kBadRegister);
static_assert(-UNW_EINVAL == lu::kInvalid && -UNW_EUNSPEC == lu::kUnspecified);

unwind::Registers registers_of(const ucontext_t& context) {
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                            REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  unwind::Registers registers;
  for (unsigned at = 0; at < unwind::Registers::kCount; ++at) {
    registers.values[at] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kOrder[at]]);
  }
  registers.known = (1u << unwind::Registers::kCount) - 1;
  return registers;
}

// Both walk this thread's stack from the same registers.
class SecondUnwinderTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(memory_.open());
    modules_->open(nullptr);
    ASSERT_TRUE(modules_->refresh(memory_));
  }
  void TearDown() override {
    modules_->try_close();
    memory_.close();
  }

  unwind::WalkEnd walk_here(unwind::FrameBuffer& frames) {
    ucontext_t context;
    ::getcontext(&context);
    const unwind::Registers registers = registers_of(context);
    StackPieces stack(memory_);
    for (;;) {
      const auto end = unwind::walk(*modules_->code_map(), registers, stack.reader(), frames);
      if (end == unwind::WalkEnd::kUnbuilt &&
          modules_->build_table_at(unwind::outermost_lookup_address(frames), memory_)) {
        continue;
      }
      unwinder_->note_start(registers);
      unwinder_->walk(stack.reader(), *modules_, memory_);
      return unwinder_->take(frames, end);
    }
  }

  ProcMemory memory_;
  std::unique_ptr<ModuleMap> modules_ = std::make_unique<ModuleMap>();
  std::unique_ptr<SecondUnwinder> unwinder_ = std::make_unique<SecondUnwinder>();
};

TEST_F(SecondUnwinderTest, DoesNothingUnlessItIsChosen) {
  unwinder_->open(memory_);
  EXPECT_FALSE(unwinder_->is_on());
  EXPECT_EQ(unwinder_->failure(), "");
  auto frames = std::make_unique<unwind::FrameBuffer>();
  EXPECT_EQ(walk_here(*frames), unwind::WalkEnd::kRoot);
  EXPECT_EQ(frames->flags & wire::kStackByLibunwind, 0u);
}

TEST_F(SecondUnwinderTest, FindsTheSameStack) {
  unwinder_->choose(UnwinderChoice::kCompare);
  unwinder_->open(memory_);
  ASSERT_TRUE(unwinder_->is_on()) << unwinder_->failure();
  auto frames = std::make_unique<unwind::FrameBuffer>();
  EXPECT_EQ(walk_here(*frames), unwind::WalkEnd::kRoot);
  EXPECT_GT(frames->frame_count, 5u);
  EXPECT_EQ(frames->flags & wire::kStackByLibunwind, 0u);
  EXPECT_EQ(unwinder_->differences().compared(), 1u);
  EXPECT_EQ(unwinder_->differences().equal(), 1u);
}

TEST_F(SecondUnwinderTest, PutsLibunwindsStackInPlaceAndSaysSo) {
  auto own = std::make_unique<unwind::FrameBuffer>();
  walk_here(*own);
  unwinder_->choose(UnwinderChoice::kLibunwind);
  unwinder_->open(memory_);
  ASSERT_TRUE(unwinder_->is_on()) << unwinder_->failure();
  auto theirs = std::make_unique<unwind::FrameBuffer>();
  EXPECT_EQ(walk_here(*theirs), unwind::WalkEnd::kRoot);
  EXPECT_EQ(theirs->flags, wire::kStackByLibunwind | wire::kStackRootReached);
  EXPECT_EQ(theirs->frame_count, own->frame_count);
  EXPECT_EQ(theirs->kinds[0], unwind::kExactFrame);
}

TEST(Libunwind, OfAnotherNameIsMissing) {
  lu::Library library;
  FixedText<256> why;
  EXPECT_FALSE(lu::load_library_from("libunwind-of-nobody.so.8", library, why));
  EXPECT_NE(why.view().find("libunwind-of-nobody.so.8"), std::string_view::npos);
}

TEST(Libunwind, WithoutItsFunctionsIsRefused) {
  lu::Library library;
  FixedText<256> why;
  EXPECT_FALSE(lu::load_library_from("libc.so.6", library, why));
  EXPECT_EQ(why.view(), "it lacks _Ux86_64_create_addr_space");
}

std::unique_ptr<unwind::FrameBuffer> frames_of(const std::vector<std::uint64_t>& pcs,
                                               std::uint64_t flags = 0) {
  auto frames = std::make_unique<unwind::FrameBuffer>();
  frames->frame_count = static_cast<std::uint32_t>(pcs.size());
  frames->flags = flags;
  for (std::size_t at = 0; at < pcs.size(); ++at) {
    frames->pcs[at] = pcs[at];
    frames->kinds[at] = at == 0 ? unwind::kExactFrame : 1;
  }
  return frames;
}

struct Told {
  std::uint64_t count;
  std::vector<std::uint64_t> own;
  std::vector<std::uint64_t> other;
};
std::vector<Told> tell(const lu::Differences& differences) {
  std::vector<Told> told;
  differences.for_each([&told](std::uint32_t number, std::uint64_t count, const lu::FoundStack& own,
                               const lu::FoundStack& other) {
    EXPECT_EQ(number, told.size());
    EXPECT_EQ(own.kinds[0], unwind::kExactFrame);
    EXPECT_EQ(other.kinds[0], unwind::kExactFrame);
    told.push_back({count, {own.pcs.begin(), own.pcs.end()}, {other.pcs.begin(), other.pcs.end()}});
  });
  return told;
}

TEST(Differences, AreCountedByPairsOfStacks) {
  lu::Differences differences;
  ASSERT_TRUE(differences.open());
  const auto whole = frames_of({1, 2, 3});
  const auto early = frames_of({1, 2});
  const auto astray = frames_of({1, 7, 8, 9});
  differences.note(*whole, *whole);
  differences.note(*whole, *early);
  differences.note(*whole, *astray);
  differences.note(*whole, *early);
  differences.note(*early, *whole);
  EXPECT_EQ(differences.compared(), 5u);
  EXPECT_EQ(differences.equal(), 1u);
  EXPECT_EQ(differences.left_out(), 0u);
  const auto told = tell(differences);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].count, 2u);
  EXPECT_EQ(told[0].own, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(told[0].other, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(told[1].other, (std::vector<std::uint64_t>{1, 7, 8, 9}));
  EXPECT_EQ(told[2].own, (std::vector<std::uint64_t>{1, 2}));
  differences.clear();
  EXPECT_EQ(differences.compared(), 0u);
  EXPECT_TRUE(tell(differences).empty());
}

TEST(Differences, BeyondTheBoundAreCounted) {
  lu::Differences differences;
  ASSERT_TRUE(differences.open());
  const auto own = frames_of({1, 2});
  for (std::uint64_t at = 0; at < lu::Differences::kMaxEntries + 5; ++at) {
    differences.note(*own, *frames_of({1, 100 + at}));
  }
  EXPECT_EQ(differences.entry_count(), lu::Differences::kMaxEntries);
  EXPECT_EQ(differences.left_out(), 5u);
}

TEST(Differences, OfStacksThatAreTooDeepEndWithTheSmallerPart) {
  std::vector<std::uint64_t> pcs(wire::kMaxFrames);
  for (std::size_t at = 0; at < pcs.size(); ++at) pcs[at] = at + 1;
  const auto own = frames_of(pcs, wire::kStackCut);
  pcs[unwind::kKeptInner] = 99999;
  const auto other = frames_of(pcs, wire::kStackCut);
  EXPECT_TRUE(lu::same_frames(*own, *other));
  pcs[unwind::kKeptInner - 1] = 99999;
  EXPECT_FALSE(lu::same_frames(*own, *frames_of(pcs, wire::kStackCut)));
}

}  // namespace
}  // namespace swipr::agent
