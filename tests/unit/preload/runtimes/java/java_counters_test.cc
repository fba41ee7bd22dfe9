#include "preload/runtimes/java/java_counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr std::uint32_t kPrologueBytes = 32;
constexpr std::uint32_t kEntryBytes = 20;

// Counters as perfMemory.hpp describes them.
class Counters {
 public:
  Counters() : bytes_(kPrologueBytes) {
    put<std::uint32_t>(0, 0xc0c0feca);
    put<std::uint32_t>(24, kPrologueBytes);
  }
  // Returns the address of the value.
  std::uint64_t add(const std::string& name, char type, std::uint32_t vector_length = 0) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    const auto name_bytes = static_cast<std::uint32_t>((name.size() + 1 + 7) / 8 * 8);
    const std::uint32_t value = kEntryBytes + name_bytes;
    bytes_.resize(at + value + 8);
    put<std::uint32_t>(at, value + 8);
    put<std::uint32_t>(at + 4, kEntryBytes);
    put<std::uint32_t>(at + 8, vector_length);
    put<char>(at + 12, type);
    put<std::uint32_t>(at + 16, value);
    std::memcpy(&bytes_[at + kEntryBytes], name.c_str(), name.size());
    put<std::uint32_t>(28, ++count_);
    return kBegin + at + value;
  }
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(&bytes_[at], &value, sizeof value);
  }
  std::uint64_t find(std::string_view name) {
    const unwind::ImageReader reader{
        [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
          const auto& bytes = static_cast<Counters*>(state)->bytes_;
          const std::uint64_t at = address - kBegin;
          if (at >= bytes.size()) return false;
          std::ranges::fill(out, std::byte{0});
          std::memcpy(out.data(), &bytes[at], std::min(out.size(), bytes.size() - at));
          return true;
        },
        this};
    return find_java_counter(kBegin, name, reader);
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint32_t count_ = 0;
};

TEST(JavaCounters, AreFoundByTheirWholeName) {
  Counters counters;
  const std::uint64_t loaded = counters.add("java.cls.loadedClasses", 'J');
  counters.add("java.cls.unloadedClassesAndMore", 'J');
  const std::uint64_t unloaded = counters.add("java.cls.unloadedClasses", 'J');
  EXPECT_EQ(counters.find("java.cls.loadedClasses"), loaded);
  EXPECT_EQ(counters.find("java.cls.unloadedClasses"), unloaded);
  EXPECT_EQ(counters.find("java.cls.unloaded"), 0u);
}

TEST(JavaCounters, AreNumbersOf64Bits) {
  Counters counters;
  counters.add("name", 'B', 32);
  counters.add("numbers", 'J', 2);
  EXPECT_EQ(counters.find("name"), 0u);
  EXPECT_EQ(counters.find("numbers"), 0u);
}

TEST(JavaCounters, EndAtAnEntryThatIsTooShort) {
  Counters counters;
  counters.add("first", 'J');
  const std::uint64_t second = counters.add("second", 'J');
  EXPECT_EQ(counters.find("second"), second);
  counters.put<std::uint32_t>(kPrologueBytes, 0);
  EXPECT_EQ(counters.find("second"), 0u);
}

TEST(JavaCounters, NeedTheirMagicNumber) {
  Counters counters;
  EXPECT_NE(counters.add("first", 'J'), 0u);
  counters.put<std::uint32_t>(0, 0);
  EXPECT_EQ(counters.find("first"), 0u);
}

}  // namespace
}  // namespace swipr::runtimes
