// The lock of Ruby's virtual machine, and classes of methods in C, in memory that looks like
// Ruby's.
#include "preload/runtimes/ruby/ruby_waits.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "preload/runtimes/ruby/ruby_classes.h"

namespace swipr::runtimes {
namespace {

using Words = std::array<std::uint64_t, 32>;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// `state`: the span of words that there are; what is outside is 0.
bool read_own(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  const auto memory = std::as_bytes(*static_cast<std::span<const std::uint64_t>*>(state));
  const std::uint64_t begin = address_of(memory.data());
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::uint64_t offset = address + at - begin;
    out[at] = offset < memory.size() ? memory[offset] : std::byte{0};
  }
  return address >= 4096;
}

// Two threads and a lock.
class RubyLock : public ::testing::TestWithParam<unsigned> {
 protected:
  RubyLock()
      : layout_(GetParam() == 2 ? *find_ruby_layout(2, 7) : *find_ruby_layout(3, GetParam() - 30)) {
    for (Thread& thread : memory_.threads) {
      word(thread.context, layout_.context_thread) = address_of(&thread.thread);
      word(thread.thread, layout_.thread_context) = address_of(&thread.context);
      word(thread.thread, 40) =
          layout_.has_native_thread ? address_of(&thread.native) : word(thread.thread, 40);
      word(layout_.has_native_thread ? thread.native : thread.thread, layout_.thread_id) =
          address_of(&thread);
      link(thread, links(thread));
    }
    memory_.lock[lock_owner()] = address_of(&memory_.threads[1].thread);
  }

  struct Thread {
    Words context;
    Words thread;
    Words native;
  };
  static std::uint64_t& word(Words& words, std::uint64_t offset) { return words.at(offset / 8); }
  std::uint64_t links(Thread& thread) { return address_of(&thread.thread) + layout_.thread_links; }
  void link(Thread& thread, std::uint64_t to) { word(thread.thread, layout_.thread_links) = to; }
  std::size_t lock_owner() const { return 16 - layout_.owner_before_links / 8; }
  // The first thread is in the list of the lock.
  void enqueue() {
    link(memory_.threads[0], address_of(&memory_.lock[16]));
    memory_.lock[16] = links(memory_.threads[0]);
  }
  RubyWait read() {
    std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(&memory_),
                                         sizeof memory_ / 8);
    ObjectPieces reader({&read_own, &words});
    return read_ruby_wait(layout_, reader, address_of(&memory_.threads[0].context), known_);
  }

  RubyLayout layout_;
  std::uint64_t known_ = 0;
  struct {
    std::array<Thread, 2> threads{};
    Words lock{};
  } memory_;
};

TEST_P(RubyLock, IsWaitedForByThoseInItsList) {
  EXPECT_FALSE(read().waits);
  enqueue();
  const RubyWait wait = read();
  EXPECT_TRUE(wait.waits);
  EXPECT_EQ(wait.holder, address_of(&memory_.threads[1]));
  EXPECT_EQ(wait.owner_address, address_of(&memory_.lock[lock_owner()]));
  EXPECT_EQ(wait.owner, address_of(&memory_.threads[1].thread));
}

TEST_P(RubyLock, HasNoHolderWhileItPasses) {
  enqueue();
  memory_.lock[lock_owner()] = 0;
  EXPECT_FALSE(read().waits) << "nothing proves that it is the lock";
  memory_.lock[lock_owner()] = address_of(&memory_.threads[1].thread);
  EXPECT_TRUE(read().waits);
  memory_.lock[lock_owner()] = 0;
  const RubyWait wait = read();
  EXPECT_TRUE(wait.waits);
  EXPECT_EQ(wait.holder, 0u);
}

TEST_P(RubyLock, IsNoneInOtherLists) {
  enqueue();
  for (const std::uint64_t wrong :
       {std::uint64_t{8}, address_of(&memory_.lock), address_of(&memory_.threads[0].thread)}) {
    memory_.lock[lock_owner()] = wrong;
    EXPECT_FALSE(read().waits) << wrong;
  }
  memory_.lock[16] = address_of(&memory_.lock[16]);  // a circle that it is not in
  EXPECT_FALSE(read().waits);
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyLock, ::testing::Values(2u, 30u, 31u, 32u, 33u, 34u));

TEST(RubyClassNames, AreThoseOfExportedVariables) {
  std::array<std::uint64_t, 512> memory{};
  const auto object = [&memory](std::size_t at) { return address_of(&memory[at]); };
  // Variables of Array (the first) and Process (the last), classes, and Process' own class.
  memory[0] = object(100);
  memory[1] = object(110);
  memory[101] = object(120);
  memory[111] = object(130);
  RubyClasses classes{.base = object(0) - 8};
  classes.variables.front() = 8;
  classes.variables.back() = 16;
  const auto name = [&](std::uint64_t owner) {
    std::span<const std::uint64_t> words(memory);
    ObjectPieces reader({&read_own, &words});
    BoundedText<1024> text;
    append_ruby_class(classes, reader, owner, text);
    return std::string(text.view());
  };
  EXPECT_EQ(name(object(100)), "Array#");
  EXPECT_EQ(name(object(120)), "Array.");
  EXPECT_EQ(name(object(110)), "Process#");
  EXPECT_EQ(name(object(130)), "Process.");
  EXPECT_EQ(name(object(140)), "");
  EXPECT_EQ(name(0), "");
}

}  // namespace
}  // namespace swipr::runtimes
