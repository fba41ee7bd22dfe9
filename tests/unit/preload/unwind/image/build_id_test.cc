#include "preload/unwind/image/build_id.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kAddress = 0x1000;

// A segment's bytes, and a reader that reads only these.
class Notes {
 public:
  explicit Notes(std::size_t alignment) : alignment_(alignment) {}

  Notes& add(std::uint32_t type, std::string_view value) {
    const Elf64_Nhdr header{4, static_cast<Elf64_Word>(value.size()), type};
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes_.append("GNU", 4);
    pad();
    bytes_.append(value);
    pad();
    return *this;
  }
  void cut(std::size_t bytes) { bytes_.resize(bytes_.size() - bytes); }

  std::string build_id(std::size_t room = 64) {
    std::byte out[64];
    const std::uint32_t size = read_build_id({kAddress, bytes_.size(), alignment_},
                                             {&Notes::read, this}, std::span(out, room));
    return {reinterpret_cast<const char*>(out), size};
  }

 private:
  void pad() { bytes_.resize((bytes_.size() + alignment_ - 1) / alignment_ * alignment_); }

  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const std::string& bytes = static_cast<Notes*>(state)->bytes_;
    if (address < kAddress || address - kAddress > bytes.size() ||
        out.size() > bytes.size() - (address - kAddress)) {
      return false;
    }
    std::memcpy(out.data(), bytes.data() + (address - kAddress), out.size());
    return true;
  }

  std::size_t alignment_;
  std::string bytes_;
};

TEST(BuildId, IsFoundBehindOtherNotes) {
  EXPECT_EQ(Notes(4).add(NT_GNU_ABI_TAG, "abcde").add(NT_GNU_BUILD_ID, "12345").build_id(),
            "12345");
}

TEST(BuildId, IsFoundInASegmentAlignedToEightBytes) {
  Notes notes(8);
  notes.add(NT_GNU_PROPERTY_TYPE_0, "0123456789abcdef").add(NT_GNU_BUILD_ID, "a build-id in here.");
  EXPECT_EQ(notes.build_id(), "a build-id in here.");
}

TEST(BuildId, IsEmptyWhereItDoesNotFitOrCannotBeRead) {
  EXPECT_EQ(Notes(4).build_id(), "");
  EXPECT_EQ(Notes(4).add(NT_GNU_ABI_TAG, "abcd").build_id(), "");
  EXPECT_EQ(Notes(4).add(NT_GNU_BUILD_ID, "12345678").build_id(7), "");
  EXPECT_EQ(Notes(4).add(NT_GNU_BUILD_ID, "12345678").build_id(8), "12345678");
  Notes cut(4);
  cut.add(NT_GNU_BUILD_ID, "12345678").cut(1);
  EXPECT_EQ(cut.build_id(), "");
}

}  // namespace
}  // namespace swipr::unwind
