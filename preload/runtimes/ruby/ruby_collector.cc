#include "preload/runtimes/ruby/ruby_collector.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <span>

namespace swipr::runtimes {
namespace {

// Executes the code of rb_during_gc as gcc and clang compile it for x86-64: it loads one pointer
// after the other into RAX, then a byte (clang: four), and shifts and masks these. Anything else
// ends it. From 3.3 on the code also asks whether the first pointer is there.
class CollectorCode {
 public:
  CollectorCode(Range<std::uint64_t> code, ObjectPieces& reader) noexcept
      : code_(code), reader_(reader), at_(code.begin) {}

  bool run(RubyCollector& out) noexcept {
    constexpr unsigned kMaxSteps = 16;
    for (unsigned step = 0; step < kMaxSteps && code_.contains(at_); ++step) {
      if (!reader_.read_value(at_, bytes_) || !execute()) return false;
      if (!is_finished_) continue;
      out.flag = flag_ + bit_ / 8;
      out.mask = static_cast<std::uint8_t>(1u << bit_ % 8);
      return true;
    }
    return false;
  }

 private:
  bool execute() noexcept {
    if (begins_with({0xf3, 0x0f, 0x1e, 0xfa})) return skip(4);       // endbr64
    if (begins_with({0x55}) || begins_with({0x5d})) return skip(1);  // push rbp, pop rbp
    if (begins_with({0x48, 0x89, 0xe5})) return skip(3);             // mov rbp, rsp
    if (flag_ != 0) return is_shifted_ ? finish() : shift();
    if (begins_with({0x48, 0x8b, 0x05})) return load(at_ + 7 + displacement(3), 7);  // of a global
    if (begins_with({0x48, 0x8d, 0x05})) {  // lea: the address of a global
      value_ = at_ + 7 + displacement(3);
      return skip(7);
    }
    if (value_ == 0) return false;
    if (begins_with({0x48, 0x8b, 0x00})) return load(value_, 3);
    if (begins_with({0x48, 0x8b, 0x40})) return load(value_ + small_displacement(3), 4);
    if (begins_with({0x48, 0x8b, 0x80})) return load(value_ + displacement(3), 7);
    if (begins_with({0x48, 0x85, 0xc0, 0x74})) return skip(5);  // a jump if it were 0
    if (begins_with({0x0f, 0xb6, 0x40})) return take_flag(value_ + small_displacement(3), 4);
    if (begins_with({0x0f, 0xb6, 0x80})) return take_flag(value_ + displacement(3), 7);
    if (begins_with({0x8b, 0x40})) return take_flag(value_ + small_displacement(2), 3);
    if (begins_with({0x8b, 0x80})) return take_flag(value_ + displacement(2), 6);
    return false;
  }

  bool take_flag(std::uint64_t address, std::uint64_t bytes) noexcept {
    flag_ = address;
    std::uint32_t value = 0;
    return reader_.read_value(address, value) && skip(bytes);
  }
  bool shift() noexcept {
    constexpr std::uint8_t kBits = 32;
    const bool is_shift = begins_with({0xc0, 0xe8}) || begins_with({0xc1, 0xe8});  // shr al, eax
    if (!is_shift || bytes_[2] >= kBits) return false;
    bit_ = bytes_[2];
    is_shifted_ = true;
    return skip(3);
  }
  bool finish() noexcept {  // and eax, 1; ret
    is_finished_ =
        begins_with({0x83, 0xe0, 0x01, 0xc3}) || begins_with({0x83, 0xe0, 0x01, 0x5d, 0xc3});
    return is_finished_;
  }

  bool load(std::uint64_t address, std::uint64_t bytes) noexcept {
    return reader_.read_value(address, value_) && value_ != 0 && value_ % 8 == 0 && skip(bytes);
  }
  bool skip(std::uint64_t bytes) noexcept {
    at_ += bytes;
    return true;
  }
  bool begins_with(std::initializer_list<std::uint8_t> wanted) const noexcept {
    return std::memcmp(bytes_.data(), wanted.begin(), wanted.size()) == 0;
  }
  std::uint64_t displacement(std::size_t at) const noexcept {
    std::int32_t value = 0;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return static_cast<std::uint64_t>(std::int64_t{value});
  }
  std::uint64_t small_displacement(std::size_t at) const noexcept {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(bytes_[at])});
  }

  Range<std::uint64_t> code_;
  ObjectPieces& reader_;
  std::uint64_t at_;
  std::array<std::uint8_t, 8> bytes_{};
  std::uint64_t value_ = 0;  // RAX, a pointer; 0: not loaded yet
  std::uint64_t flag_ = 0;   // address of the bytes that were loaded
  std::uint8_t bit_ = 0;
  bool is_shifted_ = false;
  bool is_finished_ = false;
};

// rb_ractor_t.threads ends with the execution context that runs, and the Ractor's main thread.
bool find_running(const RubyLayout& layout, ObjectPieces& reader, std::uint64_t context,
                  std::uint16_t& out) noexcept {
  constexpr std::uint16_t kMaxBytes = 1024;
  std::uint64_t main = 0;
  std::uint64_t ractor = 0;
  if (!reader.read_value(context + layout.context_thread, main) || main == 0 || main % 8 != 0 ||
      !reader.read_value(main + kRubyThreadRactor, ractor) || ractor == 0 || ractor % 8 != 0) {
    return false;
  }
  for (std::uint16_t at = 8; at < kMaxBytes; at += 8) {
    std::array<std::uint64_t, 2> words{};
    std::uint64_t thread = 0;
    std::uint64_t its_ractor = 0;
    if (!reader.read_value(ractor + at, words)) return false;
    const bool is_found =
        words[1] == main && words[0] != 0 && words[0] % 8 == 0 &&
        reader.read_value(words[0] + layout.context_thread, thread) && thread % 8 == 0 &&
        reader.read_value(thread + kRubyThreadRactor, its_ractor) && its_ractor == ractor;
    if (!is_found) continue;
    out = at;
    return true;
  }
  return false;
}

}  // namespace

void find_ruby_collector(RubyRuntime& ruby, ObjectPieces& reader, std::uint64_t context) noexcept {
  RubyCollector found = ruby.collector;
  if (!CollectorCode(found.code, reader).run(found)) return;
  if (ruby.current_context == 0 && !find_running(ruby.layout, reader, context, found.running))
    return;
  ruby.collector = found;
}

}  // namespace swipr::runtimes
